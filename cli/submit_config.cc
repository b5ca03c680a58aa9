#include "cli/submit_config.h"

#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "cli/config/core/effective_settings.h"
#include "cli/config/core/launch_plan.h"
#include "cli/config/load_config.h"
#include "cli/plan_launch.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

// Stands for the coordinator of the command, whose address changes nothing in a plan.
constexpr char kSomeCoordinator[] = "127.0.0.1:7337";

// Plans a launch of the file with these flags, on a cluster.
absl::StatusOr<LaunchPlan> Plan(const ConfigFile& file, std::vector<FlagSetting> flags,
                                const CallerContext& context) {
  // The machines meet at the coordinator, so the file needs no address.
  flags.push_back({&GetSetting("coordinator"), Value{std::string(kSomeCoordinator)}});
  const EffectiveSettings settings(file, flags);
  // The nodes are other machines, so nothing is assumed about the hardware.
  HostFacts host;
  host.env = context.env;
  host.cwd = context.cwd;
  ACCEL_ASSIGN_OR_RETURN(LaunchPlan plan, PlanLaunch(settings, host));
  ACCEL_RETURN_IF_ERROR(CheckLaunch(settings, plan, host));
  return plan;
}

// Returns the flags that mean what the file says.
SubmitFlags FlagsOf(const LaunchPlan& plan) {
  SubmitFlags flags;
  flags.nodes = {plan.num_machines, plan.num_machines};
  flags.processes_per_node = plan.processes;
  // One number is that of each node, also if --nodes says another number of nodes.
  const bool are_equal = absl::c_all_of(
      plan.processes, [&plan](int processes) { return processes == plan.processes[0]; });
  if (are_equal && !plan.processes.empty()) flags.processes_per_node.resize(1);
  flags.job.cpu = plan.cpu;
  flags.job.gpu_ids = plan.gpu_ids;
  flags.job.mixed_precision = plan.mixed_precision;
  flags.job.max_restarts = plan.max_restarts;
  flags.job.debug = plan.debug;
  return flags;
}

// Returns the settings that the flags say, as far as variables of workers depend on them. The
// setting `cpu` is left out if the file says the same, because as a flag it ends FSDP.
std::vector<FlagSetting> SettingsOf(const SubmitFlags& flags, const LaunchPlan& in_file) {
  std::vector<std::pair<const char*, Value>> values = {
      {"mixed_precision", Value{flags.job.mixed_precision}},
      {"num_machines", Value{int64_t{flags.nodes.max}}}};
  if (flags.job.cpu && !in_file.cpu) values.emplace_back("cpu", Value{true});
  if (flags.job.debug) values.emplace_back("debug", Value{true});
  if (!flags.processes_per_node.empty()) {
    const int64_t given = absl::c_accumulate(flags.processes_per_node, int64_t{0});
    const bool is_of_each = flags.processes_per_node.size() == 1;
    values.emplace_back("num_processes", Value{is_of_each ? given * flags.nodes.max : given});
  }
  std::vector<FlagSetting> settings;
  settings.reserve(values.size());
  for (const auto& [name, value] : values) settings.push_back({&GetSetting(name), value});
  return settings;
}

}  // namespace

absl::StatusOr<ConfiguredSubmit> ReadOnTopOfConfig(const std::vector<std::string>& args,
                                                   const std::string& config_file,
                                                   const CallerContext& context) {
  ACCEL_ASSIGN_OR_RETURN(const auto file, LoadConfig(config_file, /*cpu=*/false, context.env));
  ACCEL_ASSIGN_OR_RETURN(const LaunchPlan in_file, Plan(*file, {}, context));
  ConfiguredSubmit submit{FlagsOf(in_file), in_file.notes};
  submit.flags.connection.coordinator = EffectiveSettings(*file, {}).Text("coordinator");
  ACCEL_RETURN_IF_ERROR(MakeSubmitFlagSet(&submit.flags).Parse(args));
  // Planned again, because some variables follow from what flags have changed.
  ACCEL_ASSIGN_OR_RETURN(LaunchPlan plan, Plan(*file, SettingsOf(submit.flags, in_file), context));
  submit.flags.settings_env = std::move(plan.env);
  return submit;
}

}  // namespace accel::cli
