// The processes of one generation in its shim. Starts its workers, collects their output, and ends
// all its processes.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/unique_fd.h"
#include "shim/core/generation_life.h"
#include "shim/core/messages.h"
#include "shim/core/progress.h"
#include "shim/event_loop.h"
#include "shim/generation_groups.h"
#include "shim/rendezvous_store.h"
#include "shim/terminal.h"
#include "shim/worker.h"
#include "shim/worker_reports.h"

namespace accel::shim {

// Not thread-safe. The caller reaps all children of this process, and calls Reaped(), Stopped() and
// NoChildLeft() with the results.
class GenerationProcesses {
 public:
  GenerationProcesses(StartCommand start, EventLoop* loop, logs::OutputWriter* output,
                      Inherited inherited);
  GenerationProcesses(const GenerationProcesses&) = delete;

  // Starts the store and the workers, unless there is an `obstacle`. The obstacle or a
  // failure becomes part of the report. If the start asks for a store, `store_socket` must be
  // a listening socket.
  void Start(common::UniqueFd store_socket, const StoreStarter& start_store,
             std::optional<ExitFact> obstacle, absl::Time now);

  // Sends SIGTERM to each worker's process group, and SIGKILL to all processes after `grace`.
  void Stop(absl::Time now, absl::Duration grace);

  // Notes that the agent has contact with the coordinator.
  void Contact(absl::Time now) { life_.Contact(now); }
  // Stops the generation with its orphan grace, because its agent or the coordinator is gone. `why`
  // becomes its failure, unless it is already stopping or has failed.
  void Abandon(absl::Time now, const std::string& why);

  // Notes that `pid`, a child of this process, has been reaped.
  void Reaped(pid_t pid, int wait_status, absl::Time now);
  // Notes that a signal has stopped `pid`.
  void Stopped(pid_t pid, int signal);
  // Notes that this process has no child left.
  void NoChildLeft();

  // Performs all work that is due. Must be called each turn, and no later than wake_at().
  void Tick(absl::Time now);
  absl::Time wake_at() const;

  GenerationReport MakeReport() const;
  // Returns true if the report has changed since the last call.
  bool TakeChanged() { return std::exchange(changed_, false); }

  // Returns true if a process is connected to the generation's store.
  bool StoreIsUsed() const { return store_ != nullptr && store_->connections() > 0; }

  GenerationLife::State state() const { return life_.state(); }
  const StartCommand& start() const { return start_; }

 private:
  std::optional<ExitFact> StartStore(common::UniqueFd socket, const StoreStarter& start_store);
  std::optional<ExitFact> StartWorkers();
  void Fail(const ExitFact& why, absl::Time now);
  // Makes the socket on which workers report, if the start asks for it.
  void OpenReports(absl::Time now, WorkerContext* context);
  // Puts a rank that hangs into the report, and what its threads do into its output. Stops nothing,
  // because the coordinator decides what follows.
  void FindHang(absl::Time now);
  // The time at which FindHang() is due.
  absl::Time FindHangAt() const;
  void KillAll(absl::Time now);
  absl::Time KillAt() const;  // The time at which KillAll() is due.
  // The time at which a new number of checkpoints may be reported.
  absl::Time CheckpointsAt() const;
  bool AllWorkersGone() const;

  const StartCommand start_;
  EventLoop* const loop_;
  logs::OutputWriter* const output_;
  const Inherited inherited_;
  GenerationLife life_;
  GenerationGroups groups_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::optional<ExitFact> failure_;
  // Lives as long as *this, because ranks on other nodes may outlive those of this node.
  std::unique_ptr<RendezvousStore> store_;
  TerminalLoan terminal_;
  common::UniqueFd null_;
  absl::Time sweep_at_ = absl::InfiniteFuture();
  absl::Duration sweep_pause_;
  std::optional<WorkerReports> reports_;  // Set if the start asks for them.
  // Set if there is a hang timeout, until a rank hangs.
  std::optional<Progress> progress_;
  int64_t checkpoints_ = 0;  // The number that Tick() has reported last.
  // The earliest time of the next report that only a checkpoint causes.
  absl::Time next_checkpoints_ = absl::InfinitePast();
  bool killed_ = false;
  // True once all processes are gone. Their output may still be unwritten.
  bool no_process_left_ = false;
  bool changed_ = true;
};

}  // namespace accel::shim
