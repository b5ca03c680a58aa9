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

// Returns the options for relaying the output of a launch, from --tee, --role and --log_dir.
// `spill_dir` is the job's folder for output that its own folder cannot take.
OutputRelay::Options RelayOptions(const LaunchPlan& plan, std::string spill_dir);

// Not thread-safe.
class FollowLaunch {
 public:
  // The folder of the job's output, and the options for relaying it. FollowLaunch sets
  // `relay.prefix`. `node_id` is that of this machine, or empty if the job has one machine.
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

  // Blocks until all output has been written or counted as lost. Must be called after Wait().
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
