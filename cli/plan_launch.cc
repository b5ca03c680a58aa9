#include "cli/plan_launch.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/config/core/contradictions.h"
#include "cli/config/core/meeting_place.h"
#include "cli/config/host_facts.h"
#include "cli/config/load_config.h"
#include "common/coordinator_address.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

absl::Status CheckClusterJob(const EffectiveSettings& settings, const LaunchPlan& plan,
                             const EnvLookup& env) {
  const bool is_given = settings.IsGiven("coordinator");
  const std::string address = is_given ? plan.coordinator : env("ACCEL_COORDINATOR").value_or("");
  if (const auto parsed = common::ParseCoordinatorAddress(address); !parsed.ok()) {
    const absl::string_view why = parsed.status().message();
    if (is_given) return settings.Refuse("coordinator", why);
    return absl::InvalidArgumentError(absl::StrCat("ACCEL_COORDINATOR is ", address, ": ", why));
  }
  if (plan.machine_rank > 0) {
    return settings.Refuse(
        "machine_rank",
        "one command starts the processes on every machine of a cluster; run it once, with "
        "machine_rank 0");
  }
  return absl::OkStatus();
}

// Returns true if Accelerate would take the text itself as a configuration in Base64.
bool IsEncodedConfig(const std::string& text) {
  std::string decoded;
  return absl::WebSafeBase64Unescape(text, &decoded) && absl::StartsWith(decoded, "{");
}

// Checks the file of DeepSpeed for a job whose processes start on this machine.
absl::Status CheckDeepSpeedFile(const EffectiveSettings& settings, const LaunchPlan& plan,
                                const CallerContext& context) {
  const std::string path = DeepSpeedFile(settings);
  if (plan.on_cluster || plan.paradigm != Paradigm::kDeepSpeed) return absl::OkStatus();
  if (path.empty()) return absl::OkStatus();
  const bool exists = context.probe(AbsolutePath(path, context.cwd)) != FileKind::kMissing;
  if (exists || IsEncodedConfig(path)) return absl::OkStatus();
  return settings.Refuse("deepspeed_config_file",
                         absl::StrCat("there is no such file; the path is relative to the working "
                                      "directory ",
                                      context.cwd));
}

bool HasFlag(const std::vector<FlagSetting>& flags, absl::string_view name) {
  return absl::c_any_of(flags,
                        [name](const FlagSetting& given) { return given.setting->name == name; });
}

// Removes the file's coordinator. Returns true if there was one. `accel test` says so, because it
// tests the set-up that the file describes.
bool DropCoordinator(bool is_test, ConfigFile* file) {
  const auto key = absl::c_find_if(file->settings, [](const FileSetting& given) {
    return given.setting->name == "coordinator" && !given.value.is_null();
  });
  if (key == file->settings.end()) return false;
  if (is_test) {
    file->notes.push_back(absl::StrCat(PlaceOf(file->path, key->mark),
                                       ": coordinator has no effect: accel test runs on this "
                                       "machine"));
  }
  file->settings.erase(key);
  return true;
}

// Keeps a launch on this machine if its output or its end is needed here.
void KeepHere(const LaunchFlags& flags, std::optional<ConfigFile>* file,
              std::vector<FlagSetting>* settings) {
  const bool is_called = !flags.end_file.empty() || flags.parent != 0;
  if (!is_called && !flags.is_test) return;
  const bool is_dropped = file->has_value() && DropCoordinator(flags.is_test, &**file);
  const bool is_chosen = HasFlag(*settings, "num_machines") || HasFlag(*settings, "nnodes") ||
                         HasFlag(*settings, "coordinator");
  if (is_chosen || (!is_called && !is_dropped)) return;
  // As a flag, because a step of Slurm around this process may have several machines.
  settings->push_back({&GetSetting("num_machines"), Value{int64_t{1}}});
}

}  // namespace

absl::Status CheckLaunch(const EffectiveSettings& settings, const LaunchPlan& plan,
                         const HostFacts& host) {
  if (!plan.wrapper.empty()) {
    return settings.Refuse(
        "num_machines",
        "accel does not start DeepSpeed's own launcher; set deepspeed_multinode_launcher: "
        "standard, and accel starts the processes on every machine");
  }
  if (plan.on_cluster) return CheckClusterJob(settings, plan, host.env);
  if (plan.num_machines == 1) return CheckEndpoint(settings);
  return FindMeetingPlace(settings, host.env, plan.num_machines).status();
}

absl::StatusOr<EffectiveSettings> SettingsOf(const LaunchFlags& flags,
                                             const CallerContext& context) {
  const bool cpu =
      std::any_of(flags.settings.begin(), flags.settings.end(), [](const FlagSetting& given) {
        return given.setting->name == "cpu" && !IsFalse(given.value);
      });
  ACCEL_ASSIGN_OR_RETURN(auto file, LoadConfig(flags.config_file, cpu, context.env));
  std::vector<FlagSetting> settings = flags.settings;
  KeepHere(flags, &file, &settings);
  return EffectiveSettings(std::move(file), settings);
}

absl::StatusOr<LaunchPlan> PlanFor(const LaunchFlags& flags, const CallerContext& context) {
  ACCEL_ASSIGN_OR_RETURN(const EffectiveSettings settings, SettingsOf(flags, context));
  const bool with_gpus = !settings.Is("cpu") && !settings.Is("use_cpu");
  const HostFacts host = ReadHostFacts(context, with_gpus);
  ACCEL_ASSIGN_OR_RETURN(LaunchPlan plan, PlanLaunch(settings, host));
  if (flags.is_test && plan.on_cluster) {
    return absl::InvalidArgumentError(
        "accel test shows what its processes print, and a coordinator would keep that; leave out "
        "--coordinator, and if ACCEL_COORDINATOR is set, give --num_machines 1");
  }
  ACCEL_RETURN_IF_ERROR(CheckLaunch(settings, plan, host));
  ACCEL_RETURN_IF_ERROR(CheckDeepSpeedFile(settings, plan, context));
  if (plan.on_cluster && !plan.tee.IsEmpty()) {
    plan.notes.push_back(
        "--tee has no effect in a job for a coordinator: accel logs has its output");
  }
  return plan;
}

}  // namespace accel::cli
