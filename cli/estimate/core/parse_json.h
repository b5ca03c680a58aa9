// Parses JSON from files.
#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::cli {

// Parses a file's whole text. INVALID_ARGUMENT: the text is malformed; the message begins
// with "FILE:LINE:COLUMN: ".
absl::StatusOr<nlohmann::json> ParseJson(absl::string_view file, absl::string_view text);

}  // namespace accel::cli
