#include "process/private_shared_memory.h"

#include <cstring>

#include "process/spawn.h"

namespace accel::process {

std::string WhyNoPrivateSharedMemory() {
  SpawnOptions nothing;
  nothing.path = "/";  // Executing it fails, so no program ever runs.
  nothing.private_shared_memory = true;
  const SpawnResult result = Spawn(nothing, true);
  if (result.error.step == SpawnError::Step::kExec) return "";
  return strerror(result.error.error);
}

}  // namespace accel::process
