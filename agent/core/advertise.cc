#include "agent/core/advertise.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/ip_address.h"
#include "common/status_macros.h"

namespace accel::agent {
namespace {

using common::IpAddress;

// Returns true if another host can connect to the address without a scope id.
bool IsOfUse(const IpAddress& address) { return !address.is_v6_link_local(); }

absl::Status NotHere(const std::string& wish, const std::vector<InterfaceAddress>& own) {
  const std::string all =
      absl::StrJoin(own, ", ", [](std::string* out, const InterfaceAddress& each) {
        absl::StrAppend(out, each.interface, " ", each.address);
      });
  return absl::NotFoundError(absl::StrCat("--advertise ", wish, ": this host has no such address, ",
                                          "interface or network; it has ", all));
}

absl::StatusOr<std::string> InNetwork(const std::string& wish,
                                      const std::vector<InterfaceAddress>& own) {
  const size_t slash = wish.find('/');
  const std::optional<IpAddress> network = IpAddress::Parse(wish.substr(0, slash));
  int bits = -1;
  if (!network.has_value() || !absl::SimpleAtoi(wish.substr(slash + 1), &bits) || bits < 0 ||
      bits > (network->is_v4() ? 32 : 128)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--advertise ", wish, ": write a network as ADDRESS/BITS, such as 10.0.0.0/8"));
  }
  for (const InterfaceAddress& each : own) {
    const auto address = IpAddress::Parse(each.address);
    if (address.has_value() && IsOfUse(*address) && address->IsInNetwork(*network, bits)) {
      return address->text();
    }
  }
  return NotHere(wish, own);
}

absl::StatusOr<std::string> OfInterface(const std::string& wish,
                                        const std::vector<InterfaceAddress>& own) {
  std::optional<IpAddress> found;
  for (const InterfaceAddress& each : own) {
    const auto address = IpAddress::Parse(each.address);
    if (each.interface != wish || !address.has_value() || !IsOfUse(*address)) continue;
    if (!found.has_value() || (address->is_v4() && !found->is_v4())) found = address;
  }
  if (!found.has_value()) return NotHere(wish, own);
  return found->text();
}

bool HasAddress(const std::vector<InterfaceAddress>& own, const IpAddress& wanted) {
  // Every address in 127.0.0.0/8 is this host's, although the loopback interface lists only one.
  if (wanted.is_v4() && wanted.is_loopback()) return true;
  return std::any_of(own.begin(), own.end(), [&wanted](const InterfaceAddress& each) {
    return IpAddress::Parse(each.address) == wanted;
  });
}

absl::StatusOr<std::string> Select(const std::string& wish,
                                   const std::vector<InterfaceAddress>& own) {
  if (wish.find('/') != std::string::npos) return InNetwork(wish, own);
  const std::optional<IpAddress> address = IpAddress::Parse(wish);
  if (!address.has_value()) return OfInterface(wish, own);
  const char* why = nullptr;
  if (address->is_wildcard()) why = "it stands for every address; name one of them";
  if (address->is_multicast()) why = "it is a multicast address";
  if (address->is_v6_link_local()) {
    why = "it is link-local, which is of no use to workers because they get no scope id";
  }
  if (why != nullptr)
    return absl::InvalidArgumentError(absl::StrCat("--advertise ", wish, ": ", why));
  if (!HasAddress(own, *address)) return NotHere(wish, own);
  return address->text();
}

}  // namespace

absl::StatusOr<std::string> ChooseAddress(const std::string& wish,
                                          const std::vector<InterfaceAddress>& own,
                                          bool coordinator_is_here) {
  ACCEL_ASSIGN_OR_RETURN(const std::string chosen, Select(wish, own));
  if (!coordinator_is_here && IpAddress::Parse(chosen)->is_loopback()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--advertise ", wish, ": ", chosen,
                     " is loopback, and the coordinator is on "
                     "another host; name an address, an interface or a network that other hosts "
                     "reach"));
  }
  return chosen;
}

absl::StatusOr<std::string> FirstReachable(const std::vector<InterfaceAddress>& own) {
  std::optional<IpAddress> found;
  for (const InterfaceAddress& each : own) {
    const auto address = IpAddress::Parse(each.address);
    if (!address.has_value() || !IsOfUse(*address) || address->is_loopback()) continue;
    if (!found.has_value() || (address->is_v4() && !found->is_v4())) found = address;
  }
  if (found.has_value()) return found->text();
  return absl::NotFoundError(
      "this host has no address that other hosts could reach; connect it to a network, or give "
      "--advertise");
}

std::vector<std::string> AddressesToReport(const std::string& advertised,
                                           const std::vector<InterfaceAddress>& own) {
  std::vector<std::string> addresses = {advertised};
  for (const InterfaceAddress& each : own) {
    const auto address = IpAddress::Parse(each.address);
    if (!address.has_value() || !IsOfUse(*address) || address->is_loopback()) continue;
    if (addresses.size() == kMaxReportedAddresses) break;
    const std::string text = address->text();
    if (std::find(addresses.begin(), addresses.end(), text) == addresses.end()) {
      addresses.push_back(text);
    }
  }
  return addresses;
}

}  // namespace accel::agent
