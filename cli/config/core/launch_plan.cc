#include "cli/config/core/launch_plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/config/core/contradictions.h"
#include "cli/config/core/max_restarts.h"
#include "cli/config/core/worker_variables.h"
#include "cli/config/core/world_plan.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr int64_t kMaxThreads = 10'000;
constexpr int64_t kMaxPort = 65'535;

// Checks a number that may be unset.
absl::Status CheckRange(const EffectiveSettings& settings, absl::string_view name, int64_t least,
                        int64_t most) {
  const std::optional<int64_t> number = settings.Int(name);
  if (!number.has_value() || (*number >= least && *number <= most)) return absl::OkStatus();
  return settings.Refuse(name, absl::StrCat("it must be a number from ", least, " to ", most));
}

// Says which flags change nothing, because a person who gives one expects something. Keys of a file
// are not named, because Accelerate writes them into every file.
void NoteFlagsWithoutEffect(const EffectiveSettings& settings, LaunchPlan* plan) {
  for (const EffectiveSetting& found : settings.all()) {
    if (found.source != Source::kFlag || found.setting->effect != Effect::kReplaced) continue;
    plan->notes.push_back(
        absl::StrCat("--", found.setting->name, " has no effect: ", found.setting->help));
  }
}

// Fills in what needs no decision.
absl::Status CopySettings(const EffectiveSettings& settings, const HostFacts& host,
                          LaunchPlan* plan) {
  plan->mixed_precision = absl::AsciiStrToLower(settings.Text("mixed_precision"));
  plan->debug = settings.Is("debug");
  plan->role = settings.Text("role");
  plan->log_dir = settings.Text("log_dir");
  plan->coordinator = settings.Text("coordinator");
  const auto tee = Tee::Parse(settings.Text("tee"));
  if (!tee) {
    return settings.Refuse(
        "tee", "it must be 0 (nothing), 1 (out), 2 (err), 3 (both), or such for ranks: 0:3,1:1");
  }
  plan->tee = *tee;
  ACCEL_RETURN_IF_ERROR(CheckRange(settings, "max_restarts", 0, kMaxRestarts));
  plan->max_restarts = static_cast<int>(settings.Int("max_restarts").value_or(0));
  ACCEL_RETURN_IF_ERROR(CheckRange(settings, "num_cpu_threads_per_process", 1, kMaxThreads));
  ACCEL_RETURN_IF_ERROR(CheckRange(settings, "main_process_port", 0, kMaxPort));
  if (settings.IsFlagGiven("mixed_precision") && settings.file().has_value() &&
      plan->mixed_precision == "bf16" && host.bf16 == false) {
    return absl::InvalidArgumentError(
        "--mixed_precision bf16: the GPUs of this machine do not compute in bf16");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LaunchPlan> PlanLaunch(const EffectiveSettings& settings, const HostFacts& host) {
  LaunchPlan plan;
  if (settings.file().has_value()) plan.notes = settings.file()->notes;
  NoteFlagsWithoutEffect(settings, &plan);
  ACCEL_RETURN_IF_ERROR(CopySettings(settings, host, &plan));
  ACCEL_RETURN_IF_ERROR(PlanWorld(settings, host, &plan));
  ACCEL_RETURN_IF_ERROR(CheckContradictions(settings, host, plan));
  for (std::string& note : NotesOnDeepSpeedLauncher(settings, plan)) {
    plan.notes.push_back(std::move(note));
  }
  ACCEL_RETURN_IF_ERROR(AddWorkerVariables(settings, host, &plan));
  return plan;
}

}  // namespace accel::cli
