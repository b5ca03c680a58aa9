// Finds the processes that keep a file locked. The owner that flock(2) reports may have exited long
// ago, because a lock belongs to the open file description, which children inherit.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace accel::common {

// Returns the ids of the processes that share the open file description with the lock on `path`, in
// ascending order. Processes that opened the file separately, to wait for the lock, are not among
// them. Processes of other users cannot be seen.
std::vector<pid_t> LockHolders(const std::string& path);

}  // namespace accel::common
