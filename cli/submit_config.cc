#include "cli/submit_config.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/config/core/effective_settings.h"
#include "cli/config/core/launch_plan.h"
#include "cli/config/load_config.h"
#include "cli/plan_launch.h"
#include "common/status_macros.h"
#include "common/worker_env.h"

namespace accel::cli {
namespace {

using Values = std::vector<std::pair<const char*, Value>>;

// Stands for the coordinator of the command, whose address changes nothing in a plan.
constexpr char kSomeCoordinator[] = "127.0.0.1:7337";

constexpr int64_t kMaxNodes = 10'000;
constexpr int64_t kMaxProcessesPerNode = 1024;

// Values that no flag can give, so that they are still there if the flag was not given.
constexpr NodeRange kNoNodes = {0, 0};
constexpr int kNoProcesses = 0;
constexpr int kNoGpu = -1;

bool IsForCpus(const EffectiveSettings& file) {
  return file.Is("use_cpu") || file.Text("distributed_type") == "MULTI_CPU";
}

// Returns flags that show after parsing which of them were given.
SubmitFlags BeforeParsing(const EffectiveSettings& file) {
  SubmitFlags flags;
  flags.connection.coordinator = file.Text("coordinator");
  flags.nodes = kNoNodes;
  flags.processes_per_node = {kNoProcesses};
  flags.job.gpu_ids = {kNoGpu};
  flags.job.mixed_precision.clear();
  flags.job.cpu = IsForCpus(file);
  flags.job.debug = file.Is("debug");
  return flags;
}

bool AreNodesGiven(const SubmitFlags& flags) { return flags.nodes.max > 0; }

bool AreProcessesGiven(const SubmitFlags& flags) {
  return flags.processes_per_node != std::vector<int>{kNoProcesses};
}

bool AreGpusGiven(const SubmitFlags& flags) {
  return flags.job.gpu_ids != std::vector<int>{kNoGpu};
}

// Checks combinations of the flags that were given.
absl::Status CheckGiven(const EffectiveSettings& file, SubmitFlags flags) {
  if (!AreGpusGiven(flags)) flags.job.gpu_ids.clear();
  if (!AreNodesGiven(flags)) {
    const int64_t machines = file.Int("num_machines").value_or(1);
    const int nodes = static_cast<int>(std::clamp<int64_t>(machines, 1, kMaxNodes));
    flags.nodes = {nodes, nodes};
  }
  return CheckSubmitFlags(flags);
}

// Returns the settings for the processes of a job whose flags say nothing about them.
absl::StatusOr<Values> ProcessesOfFile(const EffectiveSettings& file, const NodeRange& nodes) {
  const Values one_each = {{"nproc_per_node", Value{int64_t{1}}}};
  if (!file.IsGiven("num_processes")) {
    // Other files are refused by the plan.
    return file.Text("distributed_type") == "NO" ? one_each : Values();
  }
  const int64_t machines = file.Int("num_machines").value_or(1);
  const int64_t total = file.Int("num_processes").value_or(0);
  const bool are_same_nodes = nodes.max == 0 || (nodes.min == nodes.max && nodes.max == machines);
  if (are_same_nodes || total < 1) return Values();
  // The number of the file is for its own nodes. It becomes that of each node.
  if (machines >= 1 && total % machines == 0 && total / machines <= kMaxProcessesPerNode) {
    return Values{{"nproc_per_node", Value{total / machines}}};
  }
  return file.Refuse("num_processes",
                     absl::StrCat("it is not the same number on each of ", machines,
                                  " machines; with --nodes, give --processes_per_node too"));
}

// Returns the settings for the processes of the job.
absl::StatusOr<Values> Processes(const EffectiveSettings& file, const SubmitFlags& flags) {
  if (!AreProcessesGiven(flags)) return ProcessesOfFile(file, flags.nodes);
  const std::vector<int>& given = flags.processes_per_node;
  if (given.size() > 1) {
    return Values{{"num_processes", Value{absl::c_accumulate(given, int64_t{0})}}};
  }
  if (given.size() == 1) return Values{{"nproc_per_node", Value{int64_t{given[0]}}}};
  if (flags.job.cpu) return Values{{"nproc_per_node", Value{int64_t{1}}}};
  return Values{{"nproc_per_node", Value{std::string("gpu")}}};
}

// Returns the settings that say whether the job uses GPUs, if the flag --cpu changes it.
Values Devices(const EffectiveSettings& file, const SubmitFlags& flags) {
  if (flags.job.cpu == IsForCpus(file)) return {};
  if (flags.job.cpu) return {{"cpu", Value{true}}};
  Values values = {{"use_cpu", Value{false}}};
  if (file.Text("distributed_type") == "MULTI_CPU") {
    values.emplace_back("distributed_type", Value{std::string("MULTI_GPU")});
  }
  return values;
}

// Returns the settings that the flags change, and the coordinator.
absl::StatusOr<std::vector<FlagSetting>> SettingsOf(const EffectiveSettings& file,
                                                    const SubmitFlags& flags) {
  ACCEL_ASSIGN_OR_RETURN(Values values, Processes(file, flags));
  for (auto& value : Devices(file, flags)) values.push_back(std::move(value));
  const std::string ids = absl::StrJoin(flags.job.gpu_ids, ",");
  const std::pair<bool, Values::value_type> others[] = {
      {true, {"coordinator", Value{std::string(kSomeCoordinator)}}},
      {AreNodesGiven(flags), {"num_machines", Value{int64_t{flags.nodes.max}}}},
      {AreGpusGiven(flags), {"gpu_ids", Value{ids.empty() ? "all" : ids}}},
      {!flags.job.mixed_precision.empty(), {"mixed_precision", Value{flags.job.mixed_precision}}},
      {flags.job.debug != file.Is("debug"), {"debug", Value{flags.job.debug}}},
  };
  for (const auto& [is_given, value] : others) {
    if (is_given) values.push_back(value);
  }
  std::vector<FlagSetting> settings;
  settings.reserve(values.size());
  for (auto& [name, value] : values) settings.push_back({&GetSetting(name), std::move(value)});
  return settings;
}

// Names the flags of `accel submit` instead of those of `accel launch`.
absl::Status InWordsOfSubmit(const absl::Status& status) {
  return absl::Status(
      status.code(),
      absl::StrReplaceAll(status.message(), {{"--num_machines", "--nodes"},
                                             {"--num_processes", "--processes_per_node"},
                                             {"--nproc_per_node", "--processes_per_node"}}));
}

// Plans the job on a cluster. The nodes are other machines, so nothing is assumed about the
// hardware.
absl::StatusOr<LaunchPlan> Plan(const EffectiveSettings& settings, const CallerContext& context) {
  HostFacts host;
  host.env = context.env;
  host.cwd = context.cwd;
  absl::StatusOr<LaunchPlan> plan = PlanLaunch(settings, host);
  if (!plan.ok()) return InWordsOfSubmit(plan.status());
  const absl::Status checked = CheckLaunch(settings, *plan, host);
  if (!checked.ok()) return InWordsOfSubmit(checked);
  return plan;
}

// Fills in what the file and the flags say together.
void FillIn(LaunchPlan plan, SubmitFlags* flags) {
  if (!AreNodesGiven(*flags)) flags->nodes = {plan.num_machines, plan.num_machines};
  if (!AreProcessesGiven(*flags)) {
    flags->processes_per_node = plan.processes;
    const bool are_equal = absl::c_all_of(
        plan.processes, [&plan](int processes) { return processes == plan.processes[0]; });
    if (are_equal && !plan.processes.empty()) flags->processes_per_node.resize(1);
  }
  flags->job.cpu = plan.cpu;
  flags->job.gpu_ids = std::move(plan.gpu_ids);
  flags->job.mixed_precision = std::move(plan.mixed_precision);
  flags->job.debug = plan.debug;
  flags->settings_env = std::move(plan.env);
  if (!plan.cpu) return;
  // The plan divides the cores of a machine, and those of the nodes are not known here. The
  // variable of this shell is sent with every job.
  flags->settings_env.erase(std::remove_if(flags->settings_env.begin(), flags->settings_env.end(),
                                           [](const auto& variable) {
                                             return variable.first == common::kEnvOmpNumThreads;
                                           }),
                            flags->settings_env.end());
}

}  // namespace

absl::StatusOr<ConfiguredSubmit> ReadOnTopOfConfig(const std::vector<std::string>& args,
                                                   const std::string& config_file,
                                                   const CallerContext& context) {
  ACCEL_ASSIGN_OR_RETURN(auto file, LoadConfig(config_file, /*cpu=*/false, context.env));
  const EffectiveSettings in_file(file, {});
  ConfiguredSubmit submit{BeforeParsing(in_file), {}};
  ACCEL_RETURN_IF_ERROR(MakeSubmitFlagSet(&submit.flags).Parse(args));
  ACCEL_RETURN_IF_ERROR(CheckGiven(in_file, submit.flags));
  ACCEL_ASSIGN_OR_RETURN(const auto settings, SettingsOf(in_file, submit.flags));
  // Accelerate's files for several machines have an address. The machines of a job meet at the
  // coordinator, so it means nothing here.
  auto& lines = file->settings;
  lines.erase(std::remove_if(lines.begin(), lines.end(),
                             [](const FileSetting& line) {
                               return line.setting->name == "main_process_ip" ||
                                      line.setting->name == "main_process_port";
                             }),
              lines.end());
  ACCEL_ASSIGN_OR_RETURN(LaunchPlan plan, Plan(EffectiveSettings(file, settings), context));
  submit.notes = std::move(plan.notes);
  FillIn(std::move(plan), &submit.flags);
  return submit;
}

}  // namespace accel::cli
