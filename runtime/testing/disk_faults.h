// Simulates disks that fail and processes that die while they write. A program that links this
// library gets its own open(), pwrite(), rename() and so on. They replace the functions of libc for
// the program and all its libraries. Not thread-safe.
#pragma once

#include <functional>
#include <string>

namespace accel::runtime {

struct DiskOperation {
  // The name of the function, such as "pwrite".
  std::string name;
  // The file or folder that it changes. For a rename, the new name.
  std::string path;
  // The flags of open() and renameat2().
  unsigned flags = 0;
  // True for a write with O_DIRECT.
  bool is_direct = false;
};

struct DiskFaults {
  // Only operations on paths with this prefix count. If empty, none do.
  std::string under;
  // The number, from 1, of the operation in which the process kills itself (SIGKILL). Only
  // operations that change the disk count. A write is then half done. Any other operation is not
  // done at all. If 0, the process does not kill itself.
  int kill_at = 0;
  // Returns the errno that an operation fails with, or 0 if it succeeds.
  std::function<int(const DiskOperation&)> error = nullptr;
};

// Sets the faults of this process and restarts the count of operations. No other thread may be
// using the disk.
void set_disk_faults(DiskFaults faults);

// Runs `body` in a child process, which ends with _exit(0), or _exit(1) if `body` throws. Returns
// the wait status of the child. The caller must not have other threads, because it forks.
int in_child(const std::function<void()>& body);

}  // namespace accel::runtime
