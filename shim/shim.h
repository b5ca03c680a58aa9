// The shim of one job on one node: the loop behind accel-shim's main().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "logs/output_writer.h"
#include "shim/agent_connection.h"
#include "shim/event_loop.h"
#include "shim/generation_processes.h"
#include "shim/rendezvous_store.h"

namespace accel::shim {

struct ShimOptions {
  common::JobId job;          // Empty if the command line does not have it.
  common::UniqueFd control;   // Either a socket that is connected to the agent,
  common::UniqueFd listener;  // or a listening socket to which agents connect.
  // The job's folder, given with a listener. The result is kept there if there is no agent.
  common::UniqueFd folder;
  common::UniqueFd signals;  // A signalfd for SIGCHLD and SIGTERM, which must be blocked.
  StoreStarter start_store;  // If null, a start that asks for a store fails.
  Inherited inherited;
};

// The exit codes of accel-shim.
enum ShimExit : int {
  kShimEnded = 0,          // The agent or SIGTERM ended the shim.
  kShimFailed = 1,         // The shim could not start.
  kShimUsage = 2,          // Wrong flags, or started by hand.
  kShimAgentGone = 3,      // The agent was gone, and then the job ended.
  kShimProtocolError = 4,  // The agent sent an invalid command; the job has been ended.
};

// Takes over the whole process: reaps all its children, and kills all its descendants when
// a generation ends.
class Shim {
 public:
  explicit Shim(ShimOptions options);

  // Serves until the job is over, and returns the exit code. No process of the job is left then.
  int Run();

 private:
  ShimHello Hello() const;
  absl::Status Perform(ShimCommand command);
  absl::Status Perform(StartCommand start);
  void OnSignal();
  // Called when the connection to the agent has ended.
  void OnAgentLost(const absl::Status& why);
  // Stops the generation with the orphan grace. The shim exits once the generation has ended.
  void EndJob(ShimExit exit);
  void Reap();
  void Report();
  absl::Time WakeAt();
  // Returns true if nothing is left to do without an agent.
  bool IsOverWithoutAgent(absl::Time now);
  bool Done(absl::Time now);
  // Notes in the folder that a start has been received. Returns the failure, or nullopt on success.
  std::optional<ExitFact> NoteStart(common::Generation generation) const;
  void KeepResult();
  std::string EncodedReport() const;

  const common::JobId job_;
  EventLoop loop_;
  logs::OutputWriter output_;
  common::UniqueFd folder_;
  common::UniqueFd signals_;
  const StoreStarter start_store_;
  const Inherited inherited_;
  std::unique_ptr<GenerationProcesses> generation_;
  AgentConnection agent_;
  bool had_agent_ = false;
  const absl::Time started_;
  std::optional<ShimExit> exit_;  // Set once this program must exit.
  bool leaving_changed_ = false;  // exit_ was set, and no report says so yet.
  // The time to exit even if the agent has not read the last report.
  absl::Time leave_at_ = absl::InfiniteFuture();
};

}  // namespace accel::shim
