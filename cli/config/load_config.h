// Reads configuration files from the disk.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/config/core/config_file.h"

namespace accel::cli {

// Returns the text of a file. `what` is the kind of file, for messages. INVALID_ARGUMENT: it does
// not exist, is no regular file, or cannot be read. At most one byte more than ParseDocument()
// accepts is read.
absl::StatusOr<std::string> ReadConfigText(const std::string& path,
                                           absl::string_view what = "configuration file");

// Reads the file of a launch: `config_file`, or the default file if `config_file` is empty and the
// default file exists. Returns nullopt if there is none, or with --cpu, which leaves the default
// file alone. INVALID_ARGUMENT: as of ReadConfigText() and ReadConfig().
absl::StatusOr<std::optional<ConfigFile>> LoadConfig(
    const std::string& config_file, bool cpu,
    const std::function<std::optional<std::string>(const std::string& name)>& env);

}  // namespace accel::cli
