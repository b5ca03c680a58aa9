// Enables controllers for generations' control groups in v2. A group counts out-of-memory kills,
// and limits the number of its processes, only if its parent enables the controller for its
// children. The kernel, or the owner of the hierarchy, may refuse this.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::process {

inline constexpr absl::string_view kMemoryController = "memory";
inline constexpr absl::string_view kPidsController = "pids";

// Returns true if `text`, from a file such as cgroup.controllers, lists the controller.
bool HasController(absl::string_view text, absl::string_view controller);

// Enables the controller for the groups in `folder`, which is a group itself. Returns "" if the
// controller is then enabled, and otherwise the reason, for logs. It is not enabled if processes
// are directly in `folder`, unless that is the root of the hierarchy ("no internal processes" in
// the kernel's Documentation/admin-guide/cgroup-v2.rst).
std::string HandDown(absl::string_view controller, const std::string& folder);

// Returns the groups in which a process of the group `own` may make groups for generations, best
// first. The first is `own`. If systemd has delegated its parent (DelegateSubgroup=), the second is
// the parent, because it contains no processes that prevent HandDown().
std::vector<std::string> PlacesForGroups(const std::string& own, bool parent_is_delegated);

// Returns true if systemd has delegated the group `folder` to a service (Delegate=).
bool IsDelegated(const std::string& folder);

}  // namespace accel::process
