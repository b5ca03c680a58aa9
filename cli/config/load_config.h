// Reads configuration files from the disk.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "cli/config/core/config_file.h"

namespace accel::cli {

// Returns the text of a file. INVALID_ARGUMENT: it does not exist, is no regular file, cannot be
// read, or is larger than a configuration may be.
absl::StatusOr<std::string> ReadConfigText(const std::string& path);

// Reads the file of a launch: `config_file`, or the default file if `config_file` is empty and the
// default file exists. Returns nullopt if there is none, or with --cpu, which leaves the default
// file alone. INVALID_ARGUMENT: as of ReadConfigText() and ReadConfig().
absl::StatusOr<std::optional<ConfigFile>> LoadConfig(
    const std::string& config_file, bool cpu,
    const std::function<std::optional<std::string>(const std::string& name)>& env);

}  // namespace accel::cli
