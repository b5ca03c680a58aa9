// Who keeps a file locked. The process that flock(2) knows as the owner may be long gone: a lock
// belongs to the open file, which children inherit.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace accel::common {

// The processes that hold open the locked file at `path` through the very opening that has the
// lock, ascending. Those that have merely opened it, to wait for the lock, are not among them.
// Processes of other users cannot be seen.
std::vector<pid_t> LockHolders(const std::string& path);

}  // namespace accel::common
