// Finds the processes that keep a file locked with flock(2). The owner in /proc/locks may have
// exited long ago, because a lock belongs to the open file description, which children inherit.
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

// Returns a text for messages about a locked file: the ids of the processes that hold the lock. If
// the process that wrote its id into the file is one of them, or if no holder can be found, the
// text has only that id, or "of unknown id" if no process has it. `fd` is any open descriptor of
// the file at `path`.
std::string DescribeLockHolder(int fd, const std::string& path);

}  // namespace accel::common
