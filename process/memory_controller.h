// Enables the memory controller for generations' control groups. A v2 group counts out-of-memory
// kills only if its parent enables that controller for its children. This is done as far as the
// kernel and the owner of the hierarchy allow.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::process {

// Returns true if `text`, from a file such as cgroup.controllers, lists the controller.
bool HasController(absl::string_view text, absl::string_view controller);

// Enables the memory controller for the groups in `folder`, which is a group itself. Returns "" on
// success or if it is enabled already, and otherwise the reason, for logs. Unless `folder` is the
// root of the hierarchy, the kernel refuses if processes are directly in it (EBUSY).
std::string HandMemoryDown(const std::string& folder);

// Returns where a process in the group `own` may make groups for generations, best first. The first
// place is `own`. The second is its parent, where no process is in the way, if the parent has been
// delegated (systemd: DelegateSubgroup=).
std::vector<std::string> PlacesForGroups(const std::string& own, bool parent_is_delegated);

// Returns true if systemd has delegated the group `folder` to a service (Delegate=).
bool IsDelegated(const std::string& folder);

}  // namespace accel::process
