// Reads configuration files from the disk.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/config/core/config_file.h"

namespace accel::cli {

// Returns the text of a file. `what` is the kind of file, for messages. Reads at most one byte more
// than ParseDocument() accepts. INVALID_ARGUMENT: the file does not exist, is not a regular file,
// or cannot be read.
absl::StatusOr<std::string> ReadConfigText(const std::string& path,
                                           absl::string_view what = "configuration file");

// Returns the path of the default file that a launch reads (core/config_places.h), or nullopt if
// there is none. `env` returns a variable.
std::optional<std::string> FindDefaultConfig(
    const std::function<std::optional<std::string>(const std::string& name)>& env);

// Reads the file of a launch. This is `config_file`, or the default file if `config_file` is empty.
// Returns nullopt if the default file does not exist, or if `cpu`, because --cpu ignores the
// default file. Errors are those of ReadConfigText() and ReadConfig().
absl::StatusOr<std::optional<ConfigFile>> LoadConfig(
    const std::string& config_file, bool cpu,
    const std::function<std::optional<std::string>(const std::string& name)>& env);

}  // namespace accel::cli
