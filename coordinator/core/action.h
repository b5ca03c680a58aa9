// What a plan consists of. Each names the job that it changes and why, in a sentence for `accel
// status`.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

// PENDING to STARTING.
struct StartGeneration {
  common::JobId job;
  std::vector<v1::Placement> placements;  // By machine rank.
  v1::Devices devices = v1::DEVICES_UNSPECIFIED;
  std::string master_addr;  // Empty, and 0: a world of one process.
  int master_port = 0;
  std::string reason;
};

// STARTING to RUNNING.
struct MarkRunning {
  common::JobId job;
  std::string reason;
};

// STARTING or RUNNING to STOPPING.
struct StopGeneration {
  common::JobId job;
  v1::AfterStop next = v1::AFTER_STOP_UNSPECIFIED;
  absl::Duration grace;  // TERM to KILL.
  std::optional<v1::FailureCause> cause;
  enum class Spends {
    kNothing,
    kRestart,  // Of max_restarts.
    kReplan,   // Of max_replans.
    kStart,    // Of max_start_failures.
  };
  Spends spends = Spends::kNothing;
  std::vector<common::NodeId>
      could_not_start;  // Nodes that failed to start it, for a reason of theirs.
  std::string reason;
};

// STOPPING goes on under other terms: a cancel has come, or shall be quicker.
struct ChangeStop {
  common::JobId job;
  v1::AfterStop next = v1::AFTER_STOP_UNSPECIFIED;
  absl::Duration grace;
  std::string reason;
};

// STOPPING to where `next` says: no process of the generation is left.
struct EndGeneration {
  common::JobId job;
  v1::JobPhase to = v1::JOB_PHASE_UNSPECIFIED;
  int exit_code = 0;
  std::vector<std::string> last_lines;  // Of the failed rank; empty: nothing new.
  absl::Duration pause;                 // To RESTARTING: before the next generation.
  std::string reason;
};

// RESTARTING to PENDING.
struct Requeue {
  common::JobId job;
  std::string reason;
};

// PENDING or RESTARTING to a final phase.
struct EndUnplaced {
  common::JobId job;
  v1::JobPhase to = v1::JOB_PHASE_UNSPECIFIED;
  int exit_code = 0;
  std::optional<v1::FailureCause> cause;
  std::string reason;
};

// The phase stays; why it does is another reason.
struct Explain {
  common::JobId job;
  std::string reason;
};

// A finished job over the bound.
struct DropJob {
  common::JobId job;
  std::string reason;
};

using Action = std::variant<StartGeneration, MarkRunning, StopGeneration, ChangeStop, EndGeneration,
                            Requeue, EndUnplaced, Explain, DropJob>;

}  // namespace accel::coordinator
