// Ends every descendant of this process, even after setsid(), a double fork, or SIGSTOP. With
// PR_SET_CHILD_SUBREAPER, a descendant whose parent ends becomes a child of this process, so no
// descendant is ever lost (docs/decisions/0008).
#pragma once

#include <sys/types.h>

#include <functional>

namespace accel::process {

// Makes orphaned descendants children of this process from now on.
void BecomeSubreaper();

// Kills all descendants of this process, as StopAndKill() does. Spares those for which `excluded`
// returns true, and their descendants. Returns the number of killed processes. The caller waits for
// their ends, and calls again while any are left. Must be called from the thread that reaps.
int KillDescendants(const std::function<bool(pid_t)>& excluded);
int KillDescendants();

// Performs one step of ending the processes that a dead child has left to this process, which must
// be a subreaper. Kills descendants as KillDescendants() does, and reaps the children that have
// ended. Returns true if none is left. Otherwise it must be called again soon.
bool EndOrphans(const std::function<bool(pid_t)>& excluded);

}  // namespace accel::process
