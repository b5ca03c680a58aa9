// How many files this process may have open.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace accel {

// Raises the soft limit to the hard one, and returns the limit as it was: programs that are started
// from here get that back (SpawnOptions::open_files), because one that calls select(2) must not be
// given descriptors above 1,023.
rlimit RaiseOpenFileLimit();

// The soft limit now.
uint64_t OpenFileLimit();

}  // namespace accel
