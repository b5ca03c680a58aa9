// Whether this process may give its children a /dev/shm of their own.
#pragma once

#include <string>

namespace accel::process {

// Returns "" if Spawn() can do that (SpawnOptions::private_shared_memory), or else the reason, for
// logs. Finds out by trial.
std::string WhyNoPrivateSharedMemory();

}  // namespace accel::process
