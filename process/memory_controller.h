// Control groups v2 count out-of-memory kills only where their parent hands the memory controller
// down. Here it is handed down, as far as the kernel and the owner of the hierarchy allow.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::process {

// Whether a file that lists controllers, such as cgroup.controllers, has this one.
bool HasController(absl::string_view text, absl::string_view controller);

// Makes the groups in `folder`, which is one itself, count memory. Empty once they do; otherwise
// why they do not, for people. The kernel refuses a group that has processes of its own (EBUSY),
// unless it is the root of all.
std::string HandMemoryDown(const std::string& folder);

// Where a process in the group `own` may have groups for generations, best first: in its own group,
// and beside it, if the parent has been delegated (systemd: DelegateSubgroup=), where no process is
// in the way.
std::vector<std::string> PlacesForGroups(const std::string& own, bool parent_is_delegated);

// Whether systemd has left the group `folder` to a service (Delegate=).
bool IsDelegated(const std::string& folder);

}  // namespace accel::process
