// How many file descriptors this process may have open.
#pragma once

#include <sys/resource.h>

namespace accel::common {

// The soft limit (RLIMIT_NOFILE). Never more than 2^20, which no program of accel needs.
int DescriptorLimit();

// Raises the soft limit to the hard one, because many systems start services with a soft limit of
// 1,024 for the sake of programs that use select(2). Returns the limit as it was: programs that are
// started from here get that back (SpawnOptions::open_files), because one that calls select(2) must
// not be given descriptors above 1,023. Call it before there are other threads.
rlimit RaiseDescriptorLimit();

}  // namespace accel::common
