// The paths of configuration files, by Accelerate's rules.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace accel::cli {

// Returns the path of the default file: $HF_HOME/accelerate/default_config.yaml, else below
// $XDG_CACHE_HOME/huggingface, else below ~/.cache/huggingface. `env` returns a variable.
std::string DefaultConfigPath(
    const std::function<std::optional<std::string>(const std::string& name)>& env);

// Returns the path that is read if that of DefaultConfigPath() does not exist.
std::string DefaultJsonConfigPath(
    const std::function<std::optional<std::string>(const std::string& name)>& env);

}  // namespace accel::cli
