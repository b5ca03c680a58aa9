// The text of `accel config explain`.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/config/core/effective_settings.h"
#include "cli/config/core/launch_plan.h"

namespace accel::cli {

// Returns a line for each setting: its value, where it comes from (flag, file with line,
// environment, default, or derived from other settings and this machine), and why it has no effect,
// if it has none. `env` returns a variable. `plan` is that of the launch, or null if its settings
// are wrong; nothing is then derived. Pure.
std::string ExplainSettings(
    const EffectiveSettings& settings, const LaunchPlan* plan,
    const std::function<std::optional<std::string>(const std::string& name)>& env);

// Returns the same as JSON (docs/json.md).
std::string ExplainSettingsAsJson(
    const EffectiveSettings& settings, const LaunchPlan* plan,
    const std::function<std::optional<std::string>(const std::string& name)>& env);

}  // namespace accel::cli
