#include "agent/identity.h"

#include <utility>
#include <vector>

#include "agent/core/advertise.h"
#include "agent/probe/inventory.h"
#include "agent/probe/network.h"
#include "common/boot_id.h"
#include "common/random_hex.h"
#include "common/status_macros.h"
#include "common/version.h"

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

}  // namespace accel::agent
