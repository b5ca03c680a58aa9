// Writes configuration files.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace accel::cli {

// Writes a file, and the folders above it. A reader sees the old text or the new one. If
// `may_replace` is false, an existing file is ALREADY_EXISTS. Other errors: those of the file
// system.
absl::Status SaveConfig(const std::string& path, absl::string_view text, bool may_replace);

}  // namespace accel::cli
