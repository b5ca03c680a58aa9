// Reads the value of a setting from a file or a flag, and checks its type.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/config/core/setting.h"
#include "cli/config/core/value.h"

namespace accel::cli {

// Checks a value of a file. Null is kept. INVALID_ARGUMENT: the message says what the value must
// be, without naming the setting.
absl::StatusOr<Value> ReadFileValue(const Setting& setting, const Value& value);

// Parses the text after a flag. A switch may have "true" or "false". Errors are
// those of ReadFileValue().
absl::StatusOr<Value> ReadFlagValue(const Setting& setting, absl::string_view text);

// Returns what a value must be, for messages and help: "a number", "1 or 2".
std::string Expected(const Setting& setting);

}  // namespace accel::cli
