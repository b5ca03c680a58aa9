// The text of `accel config explain`.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/config/core/effective_settings.h"

namespace accel::cli {

// Returns a line for each setting: its value, where it comes from (flag, file with line,
// environment, default), and why it has no effect, if it has none. `env` returns a variable. Pure.
std::string ExplainSettings(
    const EffectiveSettings& settings,
    const std::function<std::optional<std::string>(const std::string& name)>& env);

// Returns the same as JSON (docs/json.md).
std::string ExplainSettingsAsJson(
    const EffectiveSettings& settings,
    const std::function<std::optional<std::string>(const std::string& name)>& env);

}  // namespace accel::cli
