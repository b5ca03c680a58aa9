// Finds the processes that keep a file locked. The owner that flock(2) reports may have exited long
// ago, because a lock belongs to the open file description, which children inherit.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace accel::common {

// Returns the ids of the processes that share the open file description with the lock on `path`, in
// ascending order. Processes that opened the file separately, to wait for the lock, are not among
// them. Processes of other users cannot be seen, nor can those that are not dumpable, except by
// root.
std::vector<pid_t> LockHolders(const std::string& path);

// Writes this process's id into a file that it has locked. Returns false, with errno set, if the
// file cannot be written.
bool WriteLockHolder(int fd);

// Returns the process to name in messages about a locked file: the one that wrote its id, if it
// still holds the lock or no holder can be seen. Otherwise the processes that have inherited the
// lock. `fd` is any open descriptor of the file at `path`.
std::string DescribeLockHolder(int fd, const std::string& path);

}  // namespace accel::common
