// The shim of one job on one node: the loop behind accel-shim's main().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "logs/output_writer.h"
#include "shim/channel.h"
#include "shim/event_loop.h"
#include "shim/generation_processes.h"
#include "shim/rendezvous_store.h"

namespace accel::shim {

struct ShimOptions {
  common::UniqueFd control;  // The socket connected to the agent.
  common::UniqueFd signals;  // A signalfd for SIGCHLD and SIGTERM, which must be blocked.
  StoreStarter start_store;  // If null, a start that asks for a store fails.
  Inherited inherited;
};

// The exit codes of accel-shim.
enum ShimExit : int {
  kShimEnded = 0,          // Its agent or SIGTERM ended it.
  kShimFailed = 1,         // It could not start.
  kShimUsage = 2,          // Wrong flags, or started by hand.
  kShimAgentGone = 3,      // The agent was gone; the job has been ended.
  kShimProtocolError = 4,  // The agent sent an invalid command; the job has been ended.
};

// Takes over the whole process: it reaps every child, and kills every descendant when
// a generation ends.
class Shim {
 public:
  explicit Shim(ShimOptions options);

  // Serves until the job is over, and returns the exit code. No process of the job is left then.
  int Run();

 private:
  void OnControl();
  void OnSignal();
  void Handle(StartCommand start);
  void Handle(const StopCommand& stop);
  void Handle(EndCommand);
  // Ends the job with the orphan grace, and then this program.
  void EndJob(ShimExit exit);
  void CloseControl();
  void Break(const absl::Status& why);
  void Reap();
  void Report();
  bool Done(absl::Time now);

  EventLoop loop_;
  logs::OutputWriter output_;
  Channel control_;
  common::UniqueFd signals_;
  const StoreStarter start_store_;
  const Inherited inherited_;
  std::unique_ptr<GenerationProcesses> generation_;
  bool control_open_ = true;
  bool awaits_room_ = false;      // The channel waits for room in the socket.
  bool report_waits_ = false;     // A report waits for that room. The newest state will be sent.
  std::optional<ShimExit> exit_;  // Set once this program must exit.
  // When to exit even if the agent has not read the last report.
  absl::Time leave_at_ = absl::InfiniteFuture();
};

}  // namespace accel::shim
