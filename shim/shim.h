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
  common::UniqueFd control;  // The connected socket to the agent.
  common::UniqueFd signals;  // A signalfd for SIGCHLD and SIGTERM, which are blocked.
  StoreStarter start_store;  // None: a start that asks for a store fails.
  Inherited inherited;
};

// What accel-shim exits with.
enum ShimExit : int {
  kShimEnded = 0,          // Its agent or SIGTERM ended it.
  kShimFailed = 1,         // It could not start.
  kShimUsage = 2,          // Wrong flags, or started by hand.
  kShimAgentGone = 3,      // The agent was gone; the job has been ended.
  kShimProtocolError = 4,  // The agent sent what is no command; the job has been ended.
};

// Needs the whole process: it reaps every child, and kills every descendant when a generation ends.
class Shim {
 public:
  explicit Shim(ShimOptions options);

  // Serves until the job is over; returns the exit code. No process of the job is left then.
  int Run();

 private:
  void OnControl();
  void OnSignal();
  void Handle(GenerationStart start);
  void Handle(const GenerationStop& stop);
  void Handle(ShimEnd);
  // Ends the job as if the agent were gone, then this program.
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
  bool awaits_room_ = false;                      // In the socket.
  bool report_waits_ = false;                     // For that room; then the newest one goes.
  std::optional<ShimExit> exit_;                  // Set once this program is to end.
  absl::Time leave_at_ = absl::InfiniteFuture();  // Even if the last report has not been read.
};

}  // namespace accel::shim
