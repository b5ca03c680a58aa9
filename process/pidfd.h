// Descriptors of processes. Unlike a pid, such a descriptor never refers to another process later.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "common/unique_fd.h"

namespace accel::process {

// Returns a descriptor of the process with this pid and start time, which is readable once the
// process has ended. Invalid if there is no such process, if it is a zombie, or if the kernel
// has no pidfds.
common::UniqueFd OpenProcess(pid_t pid, uint64_t start_time_ticks);

// Returns true if a process has this pid and start time and is no zombie.
bool IsRunning(pid_t pid, uint64_t start_time_ticks);

}  // namespace accel::process
