#include "agent/identity.h"

#include <sys/random.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "agent/probe/inventory.h"
#include "agent/probe/network.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace accel::agent {

absl::StatusOr<v1::NodeObserved> MakeIdentity(const common::NodeId& node_id,
                                              const std::string& name, const std::string& address,
                                              v1::Inventory inventory) {
  char bytes[8];
  if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) {
    return absl::InternalError("the kernel gave no random bytes for the agent's incarnation");
  }
  v1::NodeObserved identity;
  ACCEL_ASSIGN_OR_RETURN(*identity.mutable_interface(), InterfaceOf(address));
  identity.set_node_id(node_id.value());
  identity.set_incarnation(absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes))));
  identity.set_boot_id(BootId());
  identity.set_name(name);
  identity.set_version(common::kVersion);
  identity.set_address(address);
  *identity.mutable_inventory() = std::move(inventory);
  return identity;
}

}  // namespace accel::agent
