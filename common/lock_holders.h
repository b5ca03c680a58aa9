// Finds the processes that keep a file locked. The owner that flock(2) reports may have exited long
// ago, because a lock belongs to the open file description, which children inherit.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace accel::common {

// Returns the ids of the processes that share the open file description with the lock on `path`, in
// ascending order. Processes that opened the file separately, to wait for the lock, are not
// included. Unless this process is root, it does not find processes of other users, nor processes
// that are not dumpable.
std::vector<pid_t> LockHolders(const std::string& path);

// Writes this process's id into a file that it has locked. Returns false, with errno set, if the
// file cannot be written.
bool WriteLockHolder(int fd);

// Returns a text for messages about a locked file. It names the process that wrote its id into the
// file, if this process still holds the lock, or if no holder can be found. Otherwise it names the
// processes that have inherited the lock. `fd` is any open descriptor of the file at `path`.
std::string DescribeLockHolder(int fd, const std::string& path);

}  // namespace accel::common
