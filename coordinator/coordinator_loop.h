// The coordinator: take events, apply them to the state, plan, commit, publish. One thread does all
// of it.
//
//   MemoryJobStore store;
//   CoordinatorLoop loop({.store = &store});
//   ASSERT_OK(loop.Load());
//   loop.Start();                 // Its own thread. Tests call RunOnce() by hand instead.
//   auto session = loop.OpenAgentSession({.on_desired = ..., .on_closed = ...});
//   loop.SubmitJob("my-id", spec, [](absl::StatusOr<JobId> job) { ... });
//   loop.Stop();
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/log_throttle.h"
#include "coordinator/coordinator.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/planner.h"
#include "coordinator/inbox.h"
#include "coordinator/log_hub.h"
#include "coordinator/sessions.h"
#include "coordinator/store/job_store.h"
#include "coordinator/watchers.h"

namespace accel::coordinator {

class CoordinatorLoop final : public Coordinator {
 public:
  struct Options {
    JobStore* store = nullptr;                     // Outlives the loop.
    common::Clock* clock = common::SteadyClock();  // Monotonic; outlives the loop.
    std::function<absl::Time()> wall_clock =
        absl::Now;  // For ids, and for stamps that people read.
    Limits limits = {};
  };

  explicit CoordinatorLoop(Options options);
  ~CoordinatorLoop() override;  // Stops.

  // Takes up what the store holds. Once, before anything else. DATA_LOSS: a record cannot be read.
  absl::Status Load();

  // Runs on a thread of its own until Stop().
  void Start();
  // Ends the thread, if any; everybody who waits or is connected hears UNAVAILABLE. Idempotent. Not
  // from a callback.
  void Stop();

  // Handles all that has come in, until nothing is left to do. Returns when to call again, even if
  // nothing comes; whoever calls much later was away, and that time is not held against the nodes.
  // For tests, without Start().
  absl::Time RunOnce();

  void SubmitJob(std::string submit_id, v1::JobSpec spec,
                 absl::AnyInvocable<void(absl::StatusOr<common::JobId>)> done) override;
  void CancelJob(common::JobId job, bool at_once,
                 absl::AnyInvocable<void(absl::Status)> done) override;
  std::unique_ptr<Subscription> WatchJob(
      common::JobId job, uint64_t known_version,
      absl::AnyInvocable<void(absl::StatusOr<JobPtr>)> on_change) override;
  void ListJobs(common::JobId job,
                absl::AnyInvocable<void(absl::StatusOr<std::vector<JobPtr>>)> done) override;
  void ListNodes(absl::AnyInvocable<void(absl::StatusOr<v1::ListNodesResponse>)> done) override;
  std::unique_ptr<AgentSession> OpenAgentSession(AgentCallbacks callbacks) override;
  std::unique_ptr<Subscription> ReadLogs(v1::ReadLogsRequest request,
                                         std::shared_ptr<LogPipe> pipe) override;
  std::shared_ptr<LogPipe> FindLogPipe(const std::string& reader_id) override;

 private:
  // Runs once the changes that it stands for are committed, or have failed to be.
  using Ack = absl::AnyInvocable<void(absl::Status)>;

  void Run();
  void Refuse(Inbox::Contents contents);
  void Apply(ChangeEvent event);
  void Apply(SubmitEvent event);
  void Apply(CancelEvent event);
  void Answer(QueryEvent event);
  void Answer(ReadLogsEvent event);
  void PlanAndCommit(absl::Time now);
  void NoteAbsence(absl::Duration away);
  void NoteUnrest(const Plan& plan, absl::Time now);
  void Commit();
  void Committed(absl::Status status);
  void Publish(const Changes& changes);

  const Options options_;
  const std::shared_ptr<Inbox> inbox_;
  std::atomic<uint64_t> next_id_{1};  // Of sessions and watches.
  std::atomic<bool> stopping_{false};
  std::thread thread_;

  LogHub log_hub_;

  // The loop's thread alone.
  ClusterState state_;
  absl::Time wake_at_ = absl::InfiniteFuture();
  Sessions sessions_{&log_hub_};
  Watchers watchers_{&state_.ended};
  Changes changes_;  // Not in a commit yet.
  std::vector<Ack> acks_;
  bool committing_ = false;
  Changes in_commit_;
  std::vector<Ack> acks_in_commit_;
  absl::Time retry_at_ = absl::InfinitePast();  // No commit before this.
  absl::Duration backoff_;
  common::LogThrottle absences_;
  common::LogThrottle unrests_;
};

}  // namespace accel::coordinator
