#include "cli/machines/meet.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/core/advertise.h"
#include "agent/probe/network.h"
#include "common/ip_address.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

using common::IpAddress;

absl::StatusOr<std::vector<IpAddress>> Resolve(const std::string& host) {
  if (const auto numeric = IpAddress::Parse(host)) return std::vector<IpAddress>{*numeric};
  addrinfo wish{};
  wish.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &wish, &raw);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("cannot resolve ", host, ": ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(raw, freeaddrinfo);
  std::vector<IpAddress> addresses;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof(text), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
      continue;
    }
    // A link-local IPv6 address has a scope id and does not parse.
    const auto address = IpAddress::Parse(text);
    if (address.has_value() && !std::count(addresses.begin(), addresses.end(), *address)) {
      addresses.push_back(*address);
    }
  }
  if (addresses.empty()) return absl::UnavailableError(absl::StrCat(host, " has no address"));
  return addresses;
}

// Returns true if the name stands for this machine and not for its loopback interface.
bool IsOwnName(const std::string& host, const std::vector<IpAddress>& addresses) {
  if (IpAddress::Parse(host).has_value() || host == "localhost") return false;
  return std::any_of(addresses.begin(), addresses.end(),
                     [](const IpAddress& address) { return address.is_loopback(); });
}

absl::StatusOr<coordinator::Listener> ListenEverywhere(const std::string& port) {
  ACCEL_ASSIGN_OR_RETURN(coordinator::Listener listener,
                         coordinator::ListenOn({.host = "0.0.0.0", .port = port}));
  // A machine without IPv6 serves on its IPv4 addresses only.
  if (auto v6 = coordinator::ListenOn({.host = "::", .port = port}); v6.ok()) {
    std::move(v6->sockets.begin(), v6->sockets.end(), std::back_inserter(listener.sockets));
  }
  return listener;
}

// Listens at each address of the place that this machine has. The name may stand for several
// machines. Without a machine rank, the one with the first address must be the only one that
// serves, so this machine listens at the others only if it has the first one too. `*host` is the
// first address at which it listens.
absl::StatusOr<coordinator::Listener> Listen(const MeetingPlace& place,
                                             std::vector<IpAddress> addresses, std::string* host) {
  // Name servers rotate the addresses of a name, so each machine sorts them. 127.0.0.1 exists on
  // each machine and ::1 does not, so IPv4 is first.
  std::sort(addresses.begin(), addresses.end(), [](const IpAddress& a, const IpAddress& b) {
    return a.is_v4() != b.is_v4() ? a.is_v4() : a.IsBefore(b);
  });
  std::optional<coordinator::Listener> all;
  absl::Status first_error;
  for (const IpAddress& address : addresses) {
    auto listener = coordinator::ListenOn({.host = address.text(), .port = place.port});
    if (!listener.ok()) {
      first_error.Update(listener.status());
      if (!all.has_value() && !place.machine_rank.has_value()) break;
    } else if (!all.has_value()) {
      all = *std::move(listener);
      *host = address.text();
    } else {
      std::move(listener->sockets.begin(), listener->sockets.end(),
                std::back_inserter(all->sockets));
    }
  }
  if (!all.has_value()) return first_error;
  return *std::move(all);
}

// Fills in how the others reach this machine, whose route to them has this source address.
absl::Status Advertise(const MeetingPlace& place, const std::string& route, bool all_are_here,
                       Part* part) {
  ACCEL_ASSIGN_OR_RETURN(const auto own, agent::OwnAddresses());
  ACCEL_ASSIGN_OR_RETURN(
      part->address,
      agent::ChooseAddress(place.advertise.empty() ? route : place.advertise, own, all_are_here));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Part> Meet(const MeetingPlace& place) {
  ACCEL_ASSIGN_OR_RETURN(const std::vector<IpAddress> addresses, Resolve(place.host));
  const bool own_name = IsOwnName(place.host, addresses);
  Part part;
  std::string host = addresses.front().text();
  if (place.machine_rank.value_or(0) == 0) {
    auto listener = own_name ? ListenEverywhere(place.port) : Listen(place, addresses, &host);
    if (listener.ok()) {
      part.listener = *std::move(listener);
      std::string route = host;
      if (own_name) {
        ACCEL_ASSIGN_OR_RETURN(const auto own, agent::OwnAddresses());
        ACCEL_ASSIGN_OR_RETURN(route, agent::FirstReachable(own));
      }
      part.serves = {common::JoinHostPort(route, place.port)};
      const bool here = IpAddress::Parse(route)->is_loopback();
      ACCEL_RETURN_IF_ERROR(Advertise(place, route, here, &part));
      return part;
    }
    if (place.machine_rank.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("this machine has machine_rank 0, but it cannot listen on ", place.text(),
                       " (", listener.status().message(),
                       "): give the address of this machine, or "
                       "--machine_rank 1 or higher if another machine serves"));
    }
    part.why_not = absl::StrCat("it ", listener.status().message());
  } else {
    part.why_not = absl::StrCat("it has machine_rank ", *place.machine_rank);
  }
  for (const IpAddress& address : addresses) {
    part.serves.push_back(common::JoinHostPort(address.text(), place.port));
  }
  ACCEL_ASSIGN_OR_RETURN(const std::string route, agent::SourceAddressTo(host, place.port));
  ACCEL_RETURN_IF_ERROR(Advertise(place, route, IpAddress::Parse(host)->is_loopback(), &part));
  return part;
}

}  // namespace accel::cli
