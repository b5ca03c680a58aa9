#include "runtime/process/read_environment.h"

#include <cstdlib>
#include <optional>
#include <string>

namespace accel::runtime {

Environment read_environment() {
  return parse_environment([](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

}  // namespace accel::runtime
