// Ends every descendant of this process, whatever it did to get away: setsid, double fork, stopped.
// With PR_SET_CHILD_SUBREAPER set, a descendant whose parent dies becomes a child of this process,
// so none is ever lost from sight.
#pragma once

#include <sys/types.h>

#include <functional>

namespace accel::process {

// From now on orphaned descendants become children of this process.
void BecomeSubreaper();

// Kills all descendants but those that `excluded` picks (and what descends from them), as
// StopAndKill() does. Returns how many it has killed. Their death is the caller's to wait for; it
// calls again while any is left. Call it from the thread that reaps.
int KillDescendants(const std::function<bool(pid_t)>& excluded);
int KillDescendants();

// One step of ending what a dead child left to this process, which is a subreaper: kills all
// descendants but those that `excluded` picks, and reaps those children that have died. True if
// none is left; else call it again soon.
bool EndOrphans(const std::function<bool(pid_t)>& excluded);

}  // namespace accel::process
