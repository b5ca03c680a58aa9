// The text of a configuration file, as Accelerate writes and reads it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/config/core/config_file.h"

namespace accel::cli {

// The values of a file by section and key. The top level is the section with an empty name.
using ConfigTree = std::map<std::string, std::map<std::string, Value>>;

// Returns the text of a file: JSON if `path` ends in .json, else YAML. Keys and sections are in one
// alphabetical order. Pure.
std::string WriteTree(absl::string_view path, const ConfigTree& tree);

// Returns the text of a file with these settings. Null values are left out.
std::string WriteConfig(absl::string_view path, const std::vector<FileSetting>& settings);

// Accelerate writes some top-level settings into every file. Adds those that `settings` lacks,
// with their defaults.
void AddMissingDefaults(std::vector<FileSetting>* settings);

}  // namespace accel::cli
