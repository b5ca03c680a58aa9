// Reads the environment of this process. runtime/core/environment.h says what it means.
#pragma once

#include "runtime/core/environment.h"

namespace accel::runtime {

// Calls parse_environment() with this process's environment. Throws what that does.
Environment read_environment();

}  // namespace accel::runtime
