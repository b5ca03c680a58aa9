// Reads the environment of this process. runtime/core/environment.h says what it means.
#pragma once

#include <optional>
#include <string>

#include "runtime/core/environment.h"

namespace accel::runtime {

// Returns the value of a variable of this process, or nullopt if it is not set.
std::optional<std::string> environment_variable(const char* name);

// Calls parse_environment() with this process's environment, and throws what that function throws.
Environment read_environment();

}  // namespace accel::runtime
