// The actions of a plan: what MakePlan() proposes and Perform() carries out. Each action names the
// job that it changes. Its `reason` is a sentence for `accel status`.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/cluster_state.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

// Starts a generation. The phase of the job changes from PENDING to STARTING.
struct StartGeneration {
  common::JobId job;
  Placements placements;
  v1::Devices devices = v1::DEVICES_UNSPECIFIED;
  // If the address is empty and the port is 0, the world has one process and needs
  // no store (docs/decisions/0012).
  std::string master_addr;
  int master_port = 0;
  std::string reason;
};

// Notes that all ranks have started. The phase changes from STARTING to RUNNING.
struct MarkRunning {
  common::JobId job;
  std::string reason;
};

// Stops the generation. The phase changes from STARTING or RUNNING to STOPPING.
struct StopGeneration {
  common::JobId job;
  v1::AfterStop next = v1::AFTER_STOP_UNSPECIFIED;
  absl::Duration grace;                   // Time from SIGTERM to SIGKILL.
  std::optional<v1::FailureCause> cause;  // nullopt if no failure causes the stop.
  TimeRange failed;                       // When the failure `cause` happened.
  // The budget of the stop. Without a cause it is spent now. With a cause, SpendBudget spends it at
  // the end of the stop.
  Spends spends = Spends::kNothing;
  // The nodes that could not start their part for a reason of their own (docs/decisions/0024).
  std::vector<common::NodeId> could_not_start;
  // The reason for a stop without a cause, as a sentence without its full stop.
  std::string why;
  std::string reason;
};

// Replaces the cause of a job that is STOPPING, because an earlier failure is now known.
struct ReplaceCause {
  common::JobId job;
  v1::FailureCause cause;
  TimeRange failed;
  absl::Duration grace;  // Replaces the grace of the stop if it is shorter.
  v1::AfterStop next = v1::AFTER_STOP_UNSPECIFIED;
  Spends spends = Spends::kNothing;
  std::string reason;
};

// Changes the outcome or shortens the grace of a job that is STOPPING, because a
// cancel has arrived.
struct ChangeStop {
  common::JobId job;
  v1::AfterStop next = v1::AFTER_STOP_UNSPECIFIED;
  absl::Duration grace;
  std::string reason;
};

// Counts the cause against a budget, because the generation has ended and its cause is final. The
// job remains STOPPING until EndGeneration, which follows immediately.
struct SpendBudget {
  common::JobId job;
  std::string reason;
};

// Ends the generation, because none of its processes is left. The phase changes from STOPPING to
// the one that Job.next names.
struct EndGeneration {
  common::JobId job;
  v1::JobPhase to = v1::JOB_PHASE_UNSPECIFIED;
  int exit_code = 0;
  // The last lines of output of the rank that failed first. If empty, the cause keeps
  // its present lines.
  std::vector<std::string> last_lines;
  // The failures that came after the cause. Without a cause there are none.
  v1::LaterFailures later;
  absl::Duration pause;  // Time to wait in RESTARTING before the job is queued again.
  std::string reason;
};

// Puts the job back into the queue. The phase changes from RESTARTING to PENDING.
struct Requeue {
  common::JobId job;
  std::string reason;
};

// Ends a job that holds no nodes, so nothing must be stopped first. The phase changes from PENDING
// to FAILED or CANCELLED, or from RESTARTING to CANCELLED.
struct EndUnplaced {
  common::JobId job;
  v1::JobPhase to = v1::JOB_PHASE_UNSPECIFIED;
  int exit_code = 0;
  std::optional<v1::FailureCause> cause;
  std::string reason;
};

// Changes only the reason of the job, which keeps its phase.
struct Explain {
  common::JobId job;
  std::string reason;
};

// Removes the oldest finished job, because finished jobs exceed their bounds. The job's end is
// kept in ClusterState::ended.
struct DropJob {
  common::JobId job;
  std::string reason;
};

using Action = std::variant<StartGeneration, MarkRunning, StopGeneration, ReplaceCause, ChangeStop,
                            SpendBudget, EndGeneration, Requeue, EndUnplaced, Explain, DropJob>;

// Returns the job that the action changes.
inline const common::JobId& JobOf(const Action& action) {
  return std::visit([](const auto& each) -> const common::JobId& { return each.job; }, action);
}

}  // namespace accel::coordinator
