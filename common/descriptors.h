// How many file descriptors this process may have open.
#pragma once

namespace accel {

// The soft limit (RLIMIT_NOFILE). Never more than 2^20, which no program of accel needs.
int DescriptorLimit();

// Raises the soft limit to the hard one and returns the limit from then on. Many systems start
// services with a soft limit of 1,024 for the sake of programs that use select(). Children inherit
// the limit. Call it before there are other threads.
int RaiseDescriptorLimit();

}  // namespace accel
