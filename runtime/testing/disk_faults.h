// Disks that fail, and processes that die while they write. A program that links this has its own
// open(), write(), rename() and so on in the place of libc's, for itself and all its libraries.
#pragma once

#include <functional>
#include <string>

namespace accel::runtime {

struct DiskOperation {
  std::string name;        // Of the function, such as "pwrite".
  std::string path;        // What it changes; of a rename, the new name.
  unsigned flags = 0;      // Of open() and renameat2().
  bool is_direct = false;  // A write around the page cache.
};

struct DiskFaults {
  std::string under;  // Only operations on what begins with this path count.
  // SIGKILL in this one of the operations that change the disk, from 1: a write is half done, of
  // anything else nothing.
  int kill_at = 0;
  // The errno that an operation fails with; 0: none.
  std::function<int(const DiskOperation&)> error = nullptr;
};

// From now on, in this process. Not while other threads use the disk.
void set_disk_faults(DiskFaults faults);

// Runs `body` in a child of this process, which ends with _exit(0), or 1 if it throws. Returns its
// wait status. The caller has no other threads.
int in_child(const std::function<void()>& body);

}  // namespace accel::runtime
