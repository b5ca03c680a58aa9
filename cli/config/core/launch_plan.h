// Decides what a launch starts: how many processes on which machines, with which variables.
//
// A plan depends only on the effective settings and on a few facts about the machine. `accel
// launch`, its --dry_run and `accel config check` can therefore share one function. So can the
// tests against Accelerate's recorded launches (tests/conformance/launch_env_test.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/config/core/effective_settings.h"
#include "cli/config/core/tee.h"
#include "common/worker_env.h"

namespace accel::cli {

// The implementations of mpirun, which differ in their arguments.
enum class Mpi : uint8_t { kNone, kOpenMpi, kIntel };

struct HostFacts {
  std::optional<int> gpus;       // Number of visible GPUs, if it is known.
  std::vector<int> gpu_indexes;  // Indexes of the visible GPUs. Empty if they are not known.
  int physical_cores = 1;
  int cpus = 1;              // Number of logical CPUs.
  std::optional<bool> bf16;  // The GPUs compute in bf16, if it is known.
  std::optional<bool> fp8;   // A library for FP8 is installed, if it is known.
  Mpi mpi = Mpi::kNone;
  std::string cwd;
  // Returns a variable of this process's environment.
  std::function<std::optional<std::string>(const std::string& name)> env;
};

// The way in which workers train together. It decides the variables that they get.
enum class Paradigm : uint8_t { kPlain, kMultiGpu, kFsdp, kDeepSpeed, kMegatron };

struct LaunchPlan {
  Paradigm paradigm = Paradigm::kPlain;
  int num_machines = 1;
  // Number of processes of each machine. If empty, there is one process for each GPU of this
  // machine, or one process if there is no GPU.
  std::vector<int> processes;
  int machine_rank = 0;
  bool cpu = false;
  std::vector<int> gpu_ids;  // If empty, any.
  // The GPU of each local rank of this machine. Empty if the job gets no GPUs. Also empty if they
  // are not known before the start, as on several machines.
  std::vector<int> local_gpus;
  std::vector<std::string>
      wrapper;          // Words before the program: mpirun or deepspeed. Usually empty.
  common::EnvList env;  // Variables of workers from the settings.
  std::string mixed_precision = "no";
  bool debug = false;
  int max_restarts = 0;
  std::string role;
  std::string log_dir;  // Empty if output is not kept.
  // The streams whose lines are marked. They are also copied if output is kept.
  Tee tee;
  std::string coordinator;         // Empty if none is set.
  bool on_cluster = false;         // The launch is a job for a coordinator.
  std::vector<std::string> notes;  // Settings that have no effect, and why. One sentence each.
};

// Returns the plan of a launch. INVALID_ARGUMENT: settings contradict each other, or this machine
// cannot fulfil them. The message begins with the place of the setting.
absl::StatusOr<LaunchPlan> PlanLaunch(const EffectiveSettings& settings, const HostFacts& host);

}  // namespace accel::cli
