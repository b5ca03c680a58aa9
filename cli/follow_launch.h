// Follows the job of a launch to its end: relays its output on this machine and turns signals into
// cancellation.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "cli/config/core/launch_plan.h"
#include "cli/console.h"
#include "cli/launched_job.h"
#include "cli/output_relay.h"

namespace accel::cli {

// Returns how the output of a launch is relayed: --tee, --role and --log_dir. `spill_dir` is the
// folder of this job for output that its own folder refuses.
OutputRelay::Options RelayOptions(const LaunchPlan& plan, std::string spill_dir);

// Not thread-safe.
class FollowLaunch {
 public:
  // The folder of the job's output, and how it is relayed; `relay.prefix` is set by this class.
  // `node_id` is that of this machine. If empty, the job has one machine.
  struct Output {
    std::string job_dir;
    OutputRelay::Options relay;
    std::string node_id = {};
  };

  // `signals` is a signalfd. `job` and `console` must outlive this object.
  FollowLaunch(LaunchedJob* job, Output output, int signals, const Console& console);

  // Blocks until the job has ended. Returns it in its final phase. Errors are those of
  // LaunchedJob::Get().
  absl::StatusOr<coordinator::JobPtr> Wait();

  // Blocks until all output has been written or counted as lost. Call it once the job has ended.
  void DrainOutput(const v1::Job& job);

  // Returns the exit code of the launch. Reports how much output was lost.
  int ExitCode(const v1::Job& job);

 private:
  void Relay(const v1::Job& job);
  OutputLoss Loss();
  void OnLoss();
  void OnSignal();

  LaunchedJob& job_;
  Output output_;
  const int signals_;
  const Console& console_;
  std::unique_ptr<OutputRelay> relay_;
  int signal_ = 0;  // The first signal that asked for the end, or SIGPIPE. 0 if none.
  bool loss_said_ = false;
};

}  // namespace accel::cli
