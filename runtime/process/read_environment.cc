#include "runtime/process/read_environment.h"

#include <cstdlib>
#include <optional>
#include <string>

namespace accel::runtime {

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

Environment read_environment() { return parse_environment(environment_variable); }

}  // namespace accel::runtime
