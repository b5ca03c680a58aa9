#include "cli/config/core/world_plan.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/config/core/gpu_ids.h"
#include "cli/config/core/machine_plan.h"
#include "cli/config/core/meeting_place.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

absl::Status CheckExclusive(const EffectiveSettings& settings) {
  int given = 0;
  for (const char* name : {"multi_gpu", "cpu", "tpu", "use_deepspeed", "use_fsdp"}) {
    given += settings.Is(name) ? 1 : 0;
  }
  if (given > 1) {
    return absl::InvalidArgumentError(
        "You can only use one of `--cpu`, `--multi_gpu`, `--tpu`, `--use_deepspeed`, `--use_fsdp` "
        "at a time.");
  }
  for (const EffectiveSetting& found : settings.all()) {
    if (found.setting->effect != Effect::kRefused || found.source != Source::kFlag) continue;
    if (IsFalse(found.value)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", found.setting->name, ": ", found.setting->help));
  }
  const std::string type = settings.Text("distributed_type");
  if (type == "XLA" || type == "TPU") {
    return settings.Refuse("distributed_type", "accel does not drive TPUs");
  }
  if (absl::StartsWith(type, "MULTI_") && type != "MULTI_GPU" && type != "MULTI_CPU") {
    return settings.Refuse("distributed_type", "accel drives CPUs and NVIDIA GPUs");
  }
  return absl::OkStatus();
}

Paradigm ParadigmOf(const EffectiveSettings& settings) {
  if (settings.Is("cpu")) return Paradigm::kPlain;
  if (settings.Is("use_deepspeed")) return Paradigm::kDeepSpeed;
  if (settings.Is("use_fsdp")) return Paradigm::kFsdp;
  if (settings.Is("use_megatron_lm")) return Paradigm::kMegatron;
  if (settings.Is("multi_gpu")) return Paradigm::kMultiGpu;
  const std::string type = settings.Text("distributed_type");
  if (type == "DEEPSPEED") return Paradigm::kDeepSpeed;
  if (type == "FSDP") return Paradigm::kFsdp;
  if (type == "MEGATRON_LM") return Paradigm::kMegatron;
  return type == "MULTI_GPU" ? Paradigm::kMultiGpu : Paradigm::kPlain;
}

absl::Status CheckAddress(const EffectiveSettings& settings, const HostFacts& host,
                          const LaunchPlan& plan) {
  if (plan.num_machines == 1 || plan.on_cluster || HasMeetingPlace(settings, host.env)) {
    return absl::OkStatus();
  }
  return settings.Refuse(
      "num_machines",
      "several machines need an address at which they meet; give --main_process_ip and "
      "--main_process_port, the same on each machine, or --coordinator");
}

absl::Status PlanDevices(const EffectiveSettings& settings, const HostFacts& host,
                         LaunchPlan* plan) {
  const int processes = plan->processes.empty() ? 0 : plan->processes[0];
  plan->cpu = IsCpuJob(settings);
  // Several processes need to know that they train on CPUs; see common/worker_env.h.
  // Where other machines take part, the coordinator decides, because this one may be without a GPU.
  const bool may_have_gpus = host.gpus > 0 || plan->num_machines > 1 || plan->on_cluster;
  if (!may_have_gpus && plan->paradigm == Paradigm::kPlain && processes > 1) plan->cpu = true;
  const auto ids = ParseGpuIds(settings.Text("gpu_ids"));
  if (!ids.ok()) return settings.Refuse("gpu_ids", ids.status().message());
  if (settings.Is("cpu") && settings.IsFlagGiven("gpu_ids")) {
    return absl::InvalidArgumentError("`--cpu` and `--gpu_ids` cannot be used together");
  }
  if (!plan->cpu) plan->gpu_ids = *ids;
  if (plan->gpu_ids.size() == 1 && plan->paradigm == Paradigm::kMultiGpu &&
      plan->num_machines == 1) {
    return settings.Refuse(
        "gpu_ids",
        "Less than two GPU ids were configured and tried to run on multiple GPUs. Please "
        "ensure at least two are specified for `--gpu_ids`, or use `--gpu_ids='all'`.");
  }
  return absl::OkStatus();
}

// Fills in the GPUs that the job gets if it is the only one of this machine's coordinator: the
// first of those that it may use, in the order of their indexes (coordinator/core/placement.cc).
void PlanLocalGpus(const HostFacts& host, LaunchPlan* plan) {
  if (plan->cpu || plan->on_cluster || plan->num_machines > 1 || plan->processes.empty()) return;
  std::vector<int> gpus;
  for (const int gpu : host.gpu_indexes) {
    const bool is_named =
        std::find(plan->gpu_ids.begin(), plan->gpu_ids.end(), gpu) != plan->gpu_ids.end();
    if (plan->gpu_ids.empty() || is_named) gpus.push_back(gpu);
  }
  const auto processes = static_cast<size_t>(plan->processes[0]);
  if (gpus.size() < processes) return;
  std::sort(gpus.begin(), gpus.end());
  gpus.resize(processes);
  plan->local_gpus = std::move(gpus);
}

// Plans the command that mpirun needs before the program. Accelerate starts mpirun only in its
// simple launcher.
absl::Status PlanMpi(const EffectiveSettings& settings, const HostFacts& host, LaunchPlan* plan) {
  const std::string hosts = settings.Text("mpirun_hostfile");
  if (hosts.empty() || plan->paradigm != Paradigm::kPlain) return absl::OkStatus();
  if (host.mpi == Mpi::kNone) {
    return settings.Refuse(
        "mpirun_hostfile",
        "accel does not start mpirun, because it starts the processes itself; remove "
        "it, and name the machines of a job with --num_machines and --coordinator");
  }
  int total = 0;
  for (int processes : plan->processes) total += processes;
  const std::string per_node = absl::StrCat(total / plan->num_machines);
  const bool open = host.mpi == Mpi::kOpenMpi;
  plan->wrapper = {
      "mpirun", open ? "--hostfile" : "-f", hosts, open ? "--npernode" : "-ppn", per_node,
      "-n",     absl::StrCat(total)};
  if (open) plan->wrapper.insert(plan->wrapper.end(), {"--bind-to", "socket"});
  return absl::OkStatus();
}

// Plans the command of DeepSpeed's own launcher, which starts several machines unless
// deepspeed_multinode_launcher is "standard".
void PlanDeepSpeed(const EffectiveSettings& settings, LaunchPlan* plan) {
  std::string launcher = settings.Text("deepspeed_multinode_launcher");
  if (launcher.empty()) launcher = "pdsh";
  if (plan->paradigm != Paradigm::kDeepSpeed || plan->num_machines == 1 || launcher == "standard") {
    return;
  }
  std::vector<std::string>& words = plan->wrapper;
  words = {"deepspeed", "--hostfile", settings.Text("deepspeed_hostfile")};
  if (launcher == "nossh") {
    words.insert(words.end(), {"--node_rank", absl::StrCat(plan->machine_rank), "--no_ssh"});
  } else {
    words.insert(words.end(), {"--no_local_rank", "--launcher", launcher});
  }
  const std::string exclude = settings.Text("deepspeed_exclusion_filter");
  const std::string include = settings.Text("deepspeed_inclusion_filter");
  if (!exclude.empty()) {
    words.insert(words.end(), {"--exclude", exclude});
  } else if (!include.empty()) {
    words.insert(words.end(), {"--include", include});
  } else {
    int total = 0;
    for (int processes : plan->processes) total += processes;
    words.insert(words.end(), {"--num_gpus", absl::StrCat(total / plan->num_machines)});
  }
  const std::string ip = settings.Text("main_process_ip");
  const std::string port = settings.Text("main_process_port");
  if (!ip.empty()) words.insert(words.end(), {"--master_addr", ip});
  words.insert(words.end(), {"--master_port", port.empty() ? "29500" : port});
}

}  // namespace

absl::Status PlanWorld(const EffectiveSettings& settings, const HostFacts& host, LaunchPlan* plan) {
  ACCEL_RETURN_IF_ERROR(CheckExclusive(settings));
  plan->paradigm = ParadigmOf(settings);
  ACCEL_RETURN_IF_ERROR(PlanMachines(settings, host, plan));
  ACCEL_RETURN_IF_ERROR(CheckAddress(settings, host, *plan));
  // Without a file and a choice, several GPUs are used like --multi_gpu.
  if (plan->paradigm == Paradigm::kPlain && !IsCpuJob(settings) && !settings.file().has_value() &&
      host.gpus.value_or(0) > 1 && !plan->processes.empty() && plan->processes[0] > 1) {
    plan->paradigm = Paradigm::kMultiGpu;
  }
  ACCEL_RETURN_IF_ERROR(PlanDevices(settings, host, plan));
  PlanLocalGpus(host, plan);
  ACCEL_RETURN_IF_ERROR(PlanMpi(settings, host, plan));
  PlanDeepSpeed(settings, plan);
  return absl::OkStatus();
}

}  // namespace accel::cli
