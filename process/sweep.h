// Ends every descendant of this process, even after setsid(), a double fork, or SIGSTOP. With
// PR_SET_CHILD_SUBREAPER, a descendant whose parent dies becomes a child of this process, so none
// is ever lost (docs/decisions/0008).
#pragma once

#include <sys/types.h>

#include <functional>

namespace accel::process {

// Makes orphaned descendants children of this process from now on.
void BecomeSubreaper();

// Kills all descendants except those for which `excluded` returns true, and their descendants, as
// StopAndKill() does. Returns how many were killed. The caller waits for their death, and calls
// again while any are left. Must be called from the thread that reaps.
int KillDescendants(const std::function<bool(pid_t)>& excluded);
int KillDescendants();

// Performs one step of ending the processes that a dead child has left to this process, which must
// be a subreaper. Kills all descendants except those for which `excluded` returns true, and reaps
// the children that have died. Returns true if none is left. Otherwise call it again soon.
bool EndOrphans(const std::function<bool(pid_t)>& excluded);

}  // namespace accel::process
