#include "agent/identity.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/core/advertise.h"
#include "agent/probe/inventory.h"
#include "agent/probe/network.h"
#include "common/boot_id.h"
#include "common/random_hex.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "security/certificate.h"

namespace accel::agent {

absl::StatusOr<v1::NodeObserved> MakeIdentity(const common::NodeId& node_id,
                                              const std::string& name, const std::string& address,
                                              v1::Inventory inventory) {
  v1::NodeObserved identity;
  ACCEL_ASSIGN_OR_RETURN(*identity.mutable_interface(), InterfaceOf(address));
  identity.set_node_id(node_id.value());
  ACCEL_ASSIGN_OR_RETURN(*identity.mutable_incarnation(), common::RandomHex());
  identity.set_boot_id(common::BootId());
  identity.set_name(name);
  identity.set_version(common::kVersion);
  identity.set_address(address);
  ACCEL_ASSIGN_OR_RETURN(const std::vector<InterfaceAddress> own, OwnAddresses());
  for (std::string& each : AddressesToReport(address, own)) {
    identity.add_addresses(std::move(each));
  }
  *identity.mutable_inventory() = std::move(inventory);
  return identity;
}

absl::StatusOr<std::string> NodeName(const std::string& wish, const std::string& certificate) {
  std::string name;
  if (!certificate.empty()) {
    ACCEL_ASSIGN_OR_RETURN(const security::Certificate own,
                           security::Certificate::FromPem(certificate));
    ACCEL_ASSIGN_OR_RETURN(name, own.node_name());
  }
  // If the certificate has no name, the coordinator checks the name.
  if (name.empty()) return wish.empty() ? HostName() : wish;
  if (wish.empty() || wish == name) return name;
  return absl::InvalidArgumentError(
      absl::StrCat("--name ", wish, ": this node has joined its cluster as ", name,
                   "; leave out --name, or let an administrator run `accel node remove ", name,
                   "` and join again with the other name"));
}

}  // namespace accel::agent
