// Writes configuration files.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace accel::cli {

// Writes a file, and makes the folders above it. A reader sees either the old text or the new
// one. ALREADY_EXISTS: the file exists and `may_replace` is false. Other errors are those of
// the file system.
absl::Status SaveConfig(const std::string& path, absl::string_view text, bool may_replace);

}  // namespace accel::cli
