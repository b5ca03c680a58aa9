// The steps of a launch that are the same on the serving machine and on the other machines.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "cli/launched_job.h"
#include "cli/machines/launch_machines.h"
#include "cli/machines/meet.h"
#include "proto/node.pb.h"
#include "proto/run.pb.h"

namespace accel::cli {

// Returns the facts that this machine sends about itself when it joins.
v1::RunMachine DescribeMachine(const MachinesLaunch& launch, const Part& part);

// Returns the identity of this machine's agent. Errors are those of agent::MakeIdentity() and of
// the GPU driver.
absl::StatusOr<v1::NodeObserved> MachineIdentity(const std::string& node_id,
                                                 const std::string& node_name, int placement_order,
                                                 const std::string& address, bool with_gpus);

// Follows the job to its end and returns the exit code. Calls `on_end` once the job has ended,
// before the rest of the output is written. `on_end` must leave no process of the job. Errors are
// those of LaunchedJob::Get().
absl::StatusOr<int> FollowOnMachine(LaunchedJob* job, const std::string& job_id,
                                    const std::string& node_id, const MachinesLaunch& launch,
                                    const Workplace& workplace, const Console& console,
                                    const std::function<void()>& on_end);

}  // namespace accel::cli
