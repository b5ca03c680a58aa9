#include "cli/config/core/explain.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/json_object.h"
#include "cli/render/escape.h"
#include "common/worker_env.h"

namespace accel::cli {
namespace {

struct Line {
  absl::string_view section;
  std::string name;
  std::optional<std::string> value;  // nullopt if it is not set.
  std::string from;
};

// A setting that a variable of the environment gives if nothing else does.
struct Inherited {
  absl::string_view setting;
  const char* variable;
};
constexpr Inherited kInherited[] = {{"num_cpu_threads_per_process", common::kEnvOmpNumThreads},
                                    {"coordinator", "ACCEL_COORDINATOR"}};

std::string SourceOf(const EffectiveSettings& settings, const EffectiveSetting& found) {
  switch (found.source) {
    case Source::kFlag:
      return absl::StrCat("flag --", found.setting->name);
    case Source::kFile:
      return PlaceOf(settings.file()->path, found.mark);
    case Source::kDefault:
      break;
  }
  return "default";
}

using Env = std::function<std::optional<std::string>(const std::string& name)>;

// Returns the value of a setting that the plan decides, or nullopt if it decides none.
std::optional<std::string> DerivedValue(const EffectiveSettings& settings, const LaunchPlan& plan,
                                        absl::string_view name) {
  const bool is_given = settings.IsGiven(name);
  if (name == "num_machines" && plan.num_machines != settings.Int(name)) {
    return absl::StrCat(plan.num_machines);
  }
  if (name == "num_processes" && (!is_given || settings.IsGiven("nproc_per_node"))) {
    if (plan.processes.empty()) return "one for each GPU, or one";
    return absl::StrCat(std::accumulate(plan.processes.begin(), plan.processes.end(), int64_t{0}));
  }
  if (name != "num_cpu_threads_per_process" || is_given) return std::nullopt;
  for (const auto& [variable, value] : plan.env) {
    if (variable == common::kEnvOmpNumThreads) return value;
  }
  return std::nullopt;
}

// Returns a line for each setting. A value that is not set is nullopt.
std::vector<Line> LinesOf(const EffectiveSettings& settings, const LaunchPlan* plan,
                          const Env& env) {
  std::vector<Line> lines;
  for (const EffectiveSetting& found : settings.all()) {
    Line line{found.setting->section, std::string(found.setting->name), std::nullopt,
              SourceOf(settings, found)};
    if (!found.value.is_null()) line.value = PythonText(found.value);
    if (plan != nullptr) {
      if (auto derived = DerivedValue(settings, *plan, line.name)) {
        line.value = *std::move(derived);
        line.from = "derived";
      }
    }
    for (const auto& [setting, variable] : kInherited) {
      const auto value = env(variable);
      if (found.source != Source::kDefault || found.setting->name != setting) continue;
      if (value.value_or("").empty()) continue;
      line.value = *value;
      line.from = absl::StrCat("environment ", variable);
    }
    if (found.source != Source::kDefault && found.setting->effect == Effect::kReplaced) {
      absl::StrAppend(&line.from, "; no effect: ", found.setting->help);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string Shown(const Line& line) {
  return line.value.has_value() ? EscapeControls(*line.value) : "-";
}

}  // namespace

std::string ExplainSettings(const EffectiveSettings& settings, const LaunchPlan* plan,
                            const Env& env) {
  const std::vector<Line> lines = LinesOf(settings, plan, env);
  size_t name_width = 0, value_width = 0;
  for (const Line& line : lines) {
    name_width = std::max(name_width, line.name.size());
    value_width = std::max(value_width, std::min<size_t>(DisplayWidth(Shown(line)), 40));
  }
  std::string text = absl::StrCat(
      "Configuration file: ", settings.file().has_value() ? settings.file()->path : "none", "\n");
  absl::string_view section = "?";
  for (const Line& line : lines) {
    if (line.section != section) {
      absl::StrAppend(&text, "\n", line.section.empty() ? "top level" : line.section, ":\n");
    }
    section = line.section;
    const size_t width = DisplayWidth(Shown(line));
    const std::string gap(value_width > width ? value_width - width : 0, ' ');
    absl::StrAppend(&text, "  ", line.name, std::string(name_width - line.name.size(), ' '), "  ",
                    Shown(line), gap, "  ", line.from, "\n");
  }
  return text;
}

std::string ExplainSettingsAsJson(const EffectiveSettings& settings, const LaunchPlan* plan,
                                  const Env& env) {
  std::vector<std::string> rows;
  for (const Line& line : LinesOf(settings, plan, env)) {
    JsonObject row;
    if (!line.section.empty()) row.Text("section", line.section);
    row.Text("name", line.name)
        .Json("value", line.value.has_value() ? JsonString(*line.value) : "null")
        .Text("source", line.from);
    rows.push_back(row.Print());
  }
  JsonObject all = JsonObject::Versioned();
  if (settings.file().has_value()) all.Text("configuration_file", settings.file()->path);
  return all.Json("settings", absl::StrCat("[", absl::StrJoin(rows, ", "), "]")).Print();
}

}  // namespace accel::cli
