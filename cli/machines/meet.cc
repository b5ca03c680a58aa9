#include "cli/machines/meet.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
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
    if (address.has_value()) addresses.push_back(*address);
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

// Listens at the first address of the place that this machine has.
absl::StatusOr<coordinator::Listener> Listen(const std::vector<IpAddress>& addresses,
                                             const std::string& port, std::string* host) {
  absl::Status status;
  for (const IpAddress& address : addresses) {
    auto listener = coordinator::ListenOn({.host = address.text(), .port = port});
    *host = address.text();
    if (listener.ok()) return listener;
    status = listener.status();
  }
  return status;
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
    auto listener = own_name ? ListenEverywhere(place.port) : Listen(addresses, place.port, &host);
    if (listener.ok()) {
      part.listener = *std::move(listener);
      std::string route = host;
      if (own_name) {
        ACCEL_ASSIGN_OR_RETURN(const auto own, agent::OwnAddresses());
        ACCEL_ASSIGN_OR_RETURN(route, agent::FirstReachable(own));
      }
      part.serves = common::JoinHostPort(route, place.port);
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
    part.why_not = std::string(listener.status().message());
  } else {
    part.why_not = absl::StrCat("it has machine_rank ", *place.machine_rank);
  }
  part.serves = common::JoinHostPort(host, place.port);
  ACCEL_ASSIGN_OR_RETURN(const std::string route, agent::SourceAddressTo(host, place.port));
  ACCEL_RETURN_IF_ERROR(Advertise(place, route, IpAddress::Parse(host)->is_loopback(), &part));
  return part;
}

}  // namespace accel::cli
