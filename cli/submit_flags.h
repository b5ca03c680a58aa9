// The flags of `accel submit`.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/connection_flags.h"
#include "cli/flags.h"
#include "cli/job_flags.h"
#include "common/worker_env.h"

namespace accel::cli {

struct SubmitFlags {
  JobFlags job;
  ConnectionFlags connection;
  NodeRange nodes;
  std::vector<int> processes_per_node;  // If empty, one per GPU, or one without GPUs.
  std::string name;                     // If empty, the program's name.
  std::string workdir;                  // If empty, the current directory.
  std::string config_file;              // If empty, there is no file.
  common::EnvList settings_env;         // Variables of workers from the configuration file.
  // If empty, the nodes must already have the program.
  std::string upload;
  std::string runs_as;                      // If empty, the submitting user's account.
  absl::Duration time_limit;                // 0 if there is no limit.
  bool keep = true;                         // The workers outlive their agent.
  absl::Duration stop_on_disconnect_after;  // 0 if they are never stopped for lack of contact.
  bool wait = false;
  bool dry_run = false;  // Print the plan and submit nothing.
  bool json = false;
};

// Returns the flags, which write to `to`. `to` must outlive the set.
FlagSet MakeSubmitFlagSet(SubmitFlags* to);

// Checks combinations of flags. INVALID_ARGUMENT: flags that contradict each other.
absl::Status CheckSubmitFlags(const SubmitFlags& flags);

}  // namespace accel::cli
