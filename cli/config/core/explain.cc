#include "cli/config/core/explain.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/render/escape.h"
#include "common/worker_env.h"

namespace accel::cli {
namespace {

struct Line {
  absl::string_view section;
  std::string name, value, from;
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

}  // namespace

std::string ExplainSettings(
    const EffectiveSettings& settings,
    const std::function<std::optional<std::string>(const std::string& name)>& env) {
  std::vector<Line> lines;
  size_t name_width = 0, value_width = 0;
  for (const EffectiveSetting& found : settings.all()) {
    Line line{found.setting->section, std::string(found.setting->name),
              found.value.is_null() ? "-" : EscapeControls(PythonText(found.value)),
              SourceOf(settings, found)};
    for (const auto& [setting, variable] : kInherited) {
      const auto value = env(variable);
      if (found.source != Source::kDefault || found.setting->name != setting || !value) continue;
      line.value = EscapeControls(*value);
      line.from = absl::StrCat("environment ", variable);
    }
    if (found.source != Source::kDefault && found.setting->effect == Effect::kReplaced) {
      absl::StrAppend(&line.from, "; no effect: ", found.setting->help);
    }
    name_width = std::max(name_width, line.name.size());
    value_width = std::max(value_width, std::min<size_t>(DisplayWidth(line.value), 40));
    lines.push_back(std::move(line));
  }
  std::string text = absl::StrCat(
      "Configuration file: ", settings.file().has_value() ? settings.file()->path : "none", "\n");
  absl::string_view section = "?";
  for (const Line& line : lines) {
    if (line.section != section) {
      absl::StrAppend(&text, "\n", line.section.empty() ? "top level" : line.section, ":\n");
    }
    section = line.section;
    const size_t width = DisplayWidth(line.value);
    const std::string gap(value_width > width ? value_width - width : 0, ' ');
    absl::StrAppend(&text, "  ", line.name, std::string(name_width - line.name.size(), ' '), "  ",
                    line.value, gap, "  ", line.from, "\n");
  }
  return text;
}

}  // namespace accel::cli
