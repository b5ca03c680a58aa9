#include "cli/config/core/launch_plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

bool IsStreams(absl::string_view text) {
  return text.size() == 1 && text[0] >= '0' && text[0] <= '3';
}

// Checks the value that torchrun knows: streams for all ranks, or for some, such as 0:3,1:1.
absl::Status CheckTee(const EffectiveSettings& settings) {
  const std::string text = settings.Text("tee");
  if (IsStreams(text)) return absl::OkStatus();
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> rank_and_streams =
        absl::StrSplit(part, absl::MaxSplits(':', 1));
    uint32_t rank = 0;
    if (!absl::SimpleAtoi(rank_and_streams.first, &rank) || !IsStreams(rank_and_streams.second)) {
      return settings.Refuse(
          "tee", "it must be 0 (nothing), 1 (out), 2 (err), 3 (both), or such for ranks: 0:3,1:1");
    }
  }
  return absl::OkStatus();
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
  ACCEL_RETURN_IF_ERROR(CheckTee(settings));
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
  ACCEL_RETURN_IF_ERROR(AddWorkerVariables(settings, host, &plan));
  return plan;
}

}  // namespace accel::cli
