#include "cli/config/core/contradictions.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace accel::cli {
namespace {

// --cpu and --multi_gpu decide between the two keys of a file.
absl::Status CheckUseCpu(const EffectiveSettings& settings) {
  const bool is_decided = settings.Is("cpu") || settings.Is("multi_gpu");
  if (is_decided || !settings.Is("use_cpu")) return absl::OkStatus();
  if (settings.Text("distributed_type") != "MULTI_GPU") return absl::OkStatus();
  return settings.Refuse("use_cpu",
                         absl::StrCat(settings.Name("distributed_type"),
                                      " is MULTI_GPU; set use_cpu: false, or distributed_type: "
                                      "MULTI_CPU"));
}

absl::Status CheckGpus(const EffectiveSettings& settings, const HostFacts& host,
                       const LaunchPlan& plan) {
  const bool is_elsewhere = plan.on_cluster || plan.num_machines > 1;
  if (is_elsewhere || plan.cpu || host.gpus != 0) return absl::OkStatus();
  if (settings.Is("multi_gpu")) {
    return absl::InvalidArgumentError(
        "--multi_gpu: this machine has no GPU, or CUDA_VISIBLE_DEVICES hides them; give --cpu to "
        "train on CPUs");
  }
  if (plan.paradigm != Paradigm::kMultiGpu || plan.processes == std::vector<int>{1}) {
    return absl::OkStatus();
  }
  return settings.Refuse("distributed_type",
                         "this machine has no GPU, or CUDA_VISIBLE_DEVICES hides them; give --cpu "
                         "to train on CPUs");
}

absl::Status CheckNvme(const EffectiveSettings& settings, const LaunchPlan& plan) {
  // With DeepSpeed's own configuration file, the paths can stand there.
  const bool has_own = !DeepSpeedFile(settings).empty();
  if (plan.paradigm != Paradigm::kDeepSpeed || has_own) return absl::OkStatus();
  for (const char* kind : {"optimizer", "param"}) {
    const std::string device = absl::StrCat("offload_", kind, "_device");
    const std::string path = absl::StrCat("offload_", kind, "_nvme_path");
    if (absl::AsciiStrToLower(settings.Text(device)) != "nvme") continue;
    if (!settings.Text(path).empty()) continue;
    return settings.Refuse(device, absl::StrCat("it needs a folder; set ", path));
  }
  return absl::OkStatus();
}

}  // namespace

std::string DeepSpeedFile(const EffectiveSettings& settings) {
  std::string file = settings.Text("deepspeed_config_file");
  return file == "none" ? std::string() : file;
}

absl::Status CheckContradictions(const EffectiveSettings& settings, const HostFacts& host,
                                 const LaunchPlan& plan) {
  absl::Status status = CheckUseCpu(settings);
  status.Update(CheckGpus(settings, host, plan));
  status.Update(CheckNvme(settings, plan));
  return status;
}

std::vector<std::string> NotesOnDeepSpeedLauncher(const EffectiveSettings& settings,
                                                  const LaunchPlan& plan) {
  std::vector<std::string> notes;
  // Without DeepSpeed, one note is about all of its settings.
  if (plan.num_machines > 1 || plan.paradigm != Paradigm::kDeepSpeed) return notes;
  for (const char* name : {"deepspeed_multinode_launcher", "deepspeed_hostfile",
                           "deepspeed_exclusion_filter", "deepspeed_inclusion_filter"}) {
    if (!settings.IsFlagGiven(name)) continue;
    notes.push_back(absl::StrCat("--", name, " has no effect on one machine"));
  }
  return notes;
}

}  // namespace accel::cli
