// The text of `accel config explain`.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/config/core/effective_settings.h"
#include "cli/config/core/launch_plan.h"

namespace accel::cli {

// Returns a line for each setting, with its value and its source. The source is a flag, a line of
// the file, the environment, the default, or other settings and this machine. If a setting has no
// effect, its line says why. `env` returns a variable. `plan` is that of the launch, or null if its
// settings are wrong. Without a plan, no values are derived. Pure.
std::string ExplainSettings(
    const EffectiveSettings& settings, const LaunchPlan* plan,
    const std::function<std::optional<std::string>(const std::string& name)>& env);

// Returns the facts of ExplainSettings() as JSON (docs/json.md).
std::string ExplainSettingsAsJson(
    const EffectiveSettings& settings, const LaunchPlan* plan,
    const std::function<std::optional<std::string>(const std::string& name)>& env);

}  // namespace accel::cli
