// The limit of open file descriptors of this process.
#pragma once

#include <sys/resource.h>

namespace accel::common {

// Returns the soft limit (RLIMIT_NOFILE), but at most 2^20, because no program of accel needs more.
int DescriptorLimit();

// Raises the soft limit to the hard limit, because many systems start services with a soft limit of
// 1,024 for programs that use select(2). Returns the previous limits. The caller must pass them to
// child processes (SpawnOptions::open_files), because a program that calls select(2) cannot use
// descriptors above 1,023. If the limit cannot be raised, it is left unchanged. Must be called
// before other threads are started.
rlimit RaiseDescriptorLimit();

}  // namespace accel::common
