#include "cli/config/core/machine_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/config/core/cluster_choice.h"
#include "cli/config/core/gpu_ids.h"
#include "cli/config/core/meeting_place.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr int64_t kMaxMachines = 10'000;
constexpr int64_t kMaxProcesses = 10'000'000;
constexpr int kMaxLocalProcesses = 1024;

bool CountsCpus(const EffectiveSettings& settings) {
  const std::string* word = settings.Get("nproc_per_node").As<std::string>();
  return word != nullptr && absl::EqualsIgnoreCase(*word, "cpu");
}

// Returns the name of a setting that asks for GPUs, or an empty text if there is none.
std::string GpuSetting(const EffectiveSettings& settings) {
  for (const char* name : {"multi_gpu", "use_fsdp", "use_deepspeed", "use_megatron_lm"}) {
    if (settings.Is(name)) return settings.Name(name);
  }
  const std::string type = settings.Text("distributed_type");
  for (const char* name : {"MULTI_GPU", "FSDP", "DEEPSPEED", "MEGATRON_LM"}) {
    if (type == name) return settings.Name("distributed_type");
  }
  const std::string ids = settings.Text("gpu_ids");
  return ids.empty() || ids == "all" ? "" : settings.Name("gpu_ids");
}

// Returns the number of processes on a machine for the words gpu, cpu and auto, or nullopt if each
// node of a cluster counts its GPUs.
absl::StatusOr<std::optional<int64_t>> CountDevices(const EffectiveSettings& settings,
                                                    const HostFacts& host, absl::string_view word,
                                                    bool on_cluster) {
  const bool asks_gpus = absl::EqualsIgnoreCase(word, "gpu");
  if (on_cluster && !asks_gpus) {
    return settings.Refuse("nproc_per_node",
                           "the nodes of a cluster may differ from this machine; give a number, or "
                           "gpu");
  }
  const bool uses_cpus = IsCpuJob(settings);
  const bool has_gpus = !uses_cpus && host.gpus != 0;
  if (asks_gpus && (uses_cpus || (!on_cluster && !has_gpus))) {
    return settings.Refuse("nproc_per_node",
                           uses_cpus ? "the job uses no GPU; give a number, or cpu"
                                     : "this machine has no GPU, or CUDA_VISIBLE_DEVICES hides "
                                       "them; give a number, or --cpu and cpu");
  }
  // The agent gives each process a GPU, so a job on GPUs has no more processes than GPUs.
  if (CountsCpus(settings) && has_gpus) {
    return settings.Refuse("nproc_per_node",
                           absl::StrCat(GpuSetting(settings),
                                        " asks for GPUs; give a number, or gpu, or --cpu to train "
                                        "on CPUs"));
  }
  if (!on_cluster && !has_gpus) return std::optional<int64_t>(host.cpus);
  const auto ids = ParseGpuIds(settings.Text("gpu_ids"));
  if (!ids.ok()) return settings.Refuse("gpu_ids", ids.status().message());
  if (!ids->empty()) return std::optional<int64_t>(ids->size());
  if (on_cluster || !host.gpus.has_value()) return std::optional<int64_t>();
  return std::optional<int64_t>(*host.gpus);
}

// Returns the number of processes on all machines that --nproc_per_node asks for, or nullopt for
// one per GPU.
absl::StatusOr<std::optional<int64_t>> ProcessesPerNode(const EffectiveSettings& settings,
                                                        const HostFacts& host, int64_t machines,
                                                        bool on_cluster) {
  if (settings.IsFlagGiven("num_processes")) {
    return settings.Refuse("nproc_per_node",
                           "it cannot be combined with num_processes, which counts the processes "
                           "of all machines");
  }
  int64_t number = settings.Int("nproc_per_node").value_or(0);
  if (const std::string* word = settings.Get("nproc_per_node").As<std::string>()) {
    ACCEL_ASSIGN_OR_RETURN(const auto counted, CountDevices(settings, host, *word, on_cluster));
    if (!counted.has_value()) return counted;
    number = *counted;
  }
  if (number < 1 || number > kMaxLocalProcesses) {
    return settings.Refuse("nproc_per_node",
                           absl::StrCat("it must be a number from 1 to ", kMaxLocalProcesses));
  }
  return std::optional<int64_t>(number * machines);
}

// Returns the number of processes on all machines, or nullopt for one per GPU.
absl::StatusOr<std::optional<int64_t>> TotalProcesses(const EffectiveSettings& settings,
                                                      const HostFacts& host, int64_t machines,
                                                      bool on_cluster) {
  if (settings.IsGiven("nproc_per_node")) {
    return ProcessesPerNode(settings, host, machines, on_cluster);
  }
  if (settings.IsGiven("num_processes")) {
    const int64_t number = settings.Int("num_processes").value_or(-1);
    if (number == -1 && !settings.IsFlagGiven("num_processes")) {
      return settings.Refuse(
          "num_processes",
          "You need to manually pass in `--num_processes` using this config yaml.");
    }
    if (number < 1 || number > kMaxProcesses) {
      return settings.Refuse("num_processes",
                             absl::StrCat("it must be a number from 1 to ", kMaxProcesses));
    }
    if (number == 1 && settings.Is("multi_gpu")) {
      return absl::InvalidArgumentError(
          "You need to use at least 2 processes to use `--multi_gpu`.");
    }
    return std::optional<int64_t>(number);
  }
  if (settings.file().has_value()) {
    if (settings.Text("distributed_type") == "NO") return std::optional<int64_t>(1);
    return absl::InvalidArgumentError(
        absl::StrCat(settings.file()->path,
                     " has no num_processes: You need to manually pass in `--num_processes` using "
                     "this config yaml."));
  }
  // Each machine counts its own GPUs.
  if (machines > 1) return std::optional<int64_t>();
  if (settings.Is("cpu")) return std::optional<int64_t>(1);
  if (on_cluster || !host.gpus.has_value()) return std::optional<int64_t>();
  return std::optional<int64_t>(std::max(*host.gpus, 1));
}

// Gives each machine its part. The first machines get one more if there is a remainder.
std::vector<int> Divide(int64_t processes, int64_t machines) {
  std::vector<int> parts(machines, static_cast<int>(processes / machines));
  for (int64_t i = 0; i < processes % machines; ++i) ++parts[i];
  return parts;
}

absl::StatusOr<int64_t> CountMachines(const EffectiveSettings& settings, const HostFacts& host) {
  int64_t machines = settings.Int("num_machines").value_or(1);
  if (settings.IsGiven("nnodes")) {
    if (settings.IsFlagGiven("num_machines")) {
      return settings.Refuse("nnodes", "it is the same as num_machines; give one of them");
    }
    machines = settings.Int("nnodes").value_or(0);
  } else if (machines == 1 && !settings.IsFlagGiven("num_machines") && !settings.Is("standalone") &&
             !settings.IsGiven("coordinator") && !NamesCoordinator(host.env)) {
    // In a file, 1 is what `accelerate config` writes by itself, so it is no choice.
    ACCEL_ASSIGN_OR_RETURN(machines, MachinesOfSlurm(host.env));
  }
  if (machines < 1 || machines > kMaxMachines) {
    return settings.Refuse("num_machines",
                           absl::StrCat("it must be a number from 1 to ", kMaxMachines));
  }
  if (machines > 1 && settings.Is("standalone")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--standalone is for one machine, and there are ", machines, "; remove one of the two"));
  }
  return machines;
}

}  // namespace

bool IsCpuJob(const EffectiveSettings& settings) {
  if (settings.Is("cpu") || settings.Text("distributed_type") == "MULTI_CPU") return true;
  if (settings.Is("use_cpu") && !settings.IsFlagGiven("multi_gpu")) return true;
  return CountsCpus(settings) && GpuSetting(settings).empty();
}

absl::Status PlanMachines(const EffectiveSettings& settings, const HostFacts& host,
                          LaunchPlan* plan) {
  ACCEL_ASSIGN_OR_RETURN(const int64_t machines, CountMachines(settings, host));
  const int64_t rank = settings.Int("machine_rank").value_or(0);
  if (rank < 0 || rank >= machines) {
    return settings.Refuse(
        "machine_rank",
        absl::StrCat("num_machines is ", machines, ", so it must be from 0 to ", machines - 1));
  }
  plan->num_machines = static_cast<int>(machines);
  plan->machine_rank = static_cast<int>(rank);
  ACCEL_RETURN_IF_ERROR(CheckClusterChoice(settings));
  plan->on_cluster = IsForCluster(settings, host.env, machines);
  for (std::string& note : NotesOnAddresses(settings, plan->on_cluster, machines)) {
    plan->notes.push_back(std::move(note));
  }
  ACCEL_ASSIGN_OR_RETURN(const auto total,
                         TotalProcesses(settings, host, machines, plan->on_cluster));
  if (!total.has_value()) return absl::OkStatus();
  if (*total < machines) {
    if (!settings.IsGiven("num_processes")) {
      return absl::InvalidArgumentError(
          absl::StrCat("--num_processes is missing: it counts the processes of all machines, and "
                       "there are ",
                       machines, " machines"));
    }
    return settings.Refuse("num_processes",
                           absl::StrCat("it counts the processes of all machines, and there are ",
                                        machines, " machines; give at least ", machines));
  }
  plan->processes = Divide(*total, machines);
  if (plan->processes[0] > kMaxLocalProcesses) {
    return settings.Refuse(
        "num_processes", absl::StrCat("a machine has at most ", kMaxLocalProcesses, " processes"));
  }
  return absl::OkStatus();
}

}  // namespace accel::cli
