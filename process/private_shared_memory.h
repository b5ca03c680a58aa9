// Finds out whether this process may give its children their own /dev/shm.
#pragma once

#include <string>

namespace accel::process {

// Tries to start a child with SpawnOptions::private_shared_memory. Returns "" if that is possible,
// or else the reason, for logs.
std::string WhyNoPrivateSharedMemory();

}  // namespace accel::process
