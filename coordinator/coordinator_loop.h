// The coordinator as one loop on one thread: take events, apply them to the state, plan, commit to
// the store, publish.
//
// Only committed state is published, so no client and no agent sees a decision that a crash could
// undo. The loop must load its jobs before it publishes, because agents stop each generation that
// is not listed (docs/decisions/0004). Changes that arrive during a commit wait for its end and
// share the next commit. Queries are answered in the meantime.
//
// clang-format off
//   MemoryStore store;
//   CoordinatorLoop loop({.store = &store});
//   ASSERT_OK(loop.Load());
//   loop.Start();                 // Starts the thread. Tests call RunOnce() instead.
//   auto session = loop.OpenAgentSession(Owner(), {.on_desired = ..., .on_closed = ...});
//   loop.SubmitJob(Owner(), "my-id", spec, [](absl::StatusOr<JobId> job) { ... });
//   loop.Stop();
// clang-format on
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "common/log_throttle.h"
#include "coordinator/coordinator.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/planner.h"
#include "coordinator/inbox.h"
#include "coordinator/log_hub.h"
#include "coordinator/sessions.h"
#include "coordinator/store/store.h"
#include "coordinator/watchers.h"

namespace accel::coordinator {

class CoordinatorLoop final : public Coordinator {
 public:
  struct Options {
    Store* store = nullptr;                        // Must outlive the loop.
    common::Clock* clock = common::SteadyClock();  // Monotonic. Must outlive the loop.
    // For job ids, and for times that people read.
    std::function<absl::Time()> wall_clock = absl::Now;
    std::string boot_id;  // The kernel's. If empty, each loop counts as a new boot.
    std::string cluster_id = "a-cluster";  // For a store without rows: see recover.h.
    std::string owner = "";                // The name of the user who runs the coordinator.
    Limits limits = {};
    // Called on the loop's thread with committed changes of the access state. Load() calls it with
    // the whole access state. May be null.
    std::function<void(const AccessState& state, const AccessChanges& changes)> on_access;
  };

  explicit CoordinatorLoop(Options options);
  ~CoordinatorLoop() override;  // Calls Stop().

  // Loads the stored state. Must be called once, before any other function. Errors are those of
  // Store::Load() and Recover().
  absl::Status Load();

  // Runs the loop on a separate thread until Stop().
  void Start();
  // Stops the thread if it runs. All pending requests, watchers, readers and sessions get
  // UNAVAILABLE. Idempotent. Must not be called from a callback.
  void Stop();

  // Handles all pending events, until there is nothing left to do. Returns the time at which it
  // must be called again, even without an event. A call that comes much later counts as an absence
  // of the coordinator: see coordinator/core/presence.h. Tests call it instead of Start().
  absl::Time RunOnce();

  void SubmitJob(const Caller& caller, std::string submit_id, v1::JobSpec spec,
                 absl::AnyInvocable<void(absl::StatusOr<common::JobId>)> done) override;
  void CancelJob(const Caller& caller, common::JobId job, bool at_once,
                 absl::AnyInvocable<void(absl::Status)> done) override;
  void WithAccess(AccessAct act, absl::AnyInvocable<void(absl::Status)> done) override;
  void DrainNode(std::string node, v1::Drain drain,
                 absl::AnyInvocable<void(absl::Status)> done) override;
  std::unique_ptr<Subscription> WatchJob(
      const Caller& caller, common::JobId job, uint64_t known_version,
      absl::AnyInvocable<void(absl::StatusOr<JobPtr>)> on_change) override;
  void ListJobs(const Caller& caller, common::JobId job,
                absl::AnyInvocable<void(absl::StatusOr<std::vector<JobPtr>>)> done) override;
  void ListNodes(absl::AnyInvocable<void(absl::StatusOr<v1::ListNodesResponse>)> done) override;
  std::unique_ptr<AgentSession> OpenAgentSession(const Caller& caller,
                                                 AgentCallbacks callbacks) override;
  std::unique_ptr<Subscription> ReadLogs(const Caller& caller, v1::ReadLogsRequest request,
                                         std::shared_ptr<LogPipe> pipe) override;
  std::shared_ptr<LogPipe> FindLogPipe(const Caller& caller, const std::string& reader_id) override;
  void EndRelay(std::string reader_id) override;

 private:
  // A function that answers a request. It is called once the changes of the request are committed,
  // or with an error if the commit failed.
  using Ack = absl::AnyInvocable<void(absl::Status)>;

  void Run();
  void Refuse(Inbox::Contents contents);
  void Apply(ChangeEvent event);
  absl::Status MayRepeat(const SubmitEvent& event) const;
  absl::StatusOr<std::string> AccountFor(const SubmitEvent& event) const;
  void Apply(SubmitEvent event);
  void Apply(CancelEvent event);
  void Apply(DrainEvent event);
  void Apply(AccessEvent event);
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
  std::atomic<uint64_t> next_id_{1};  // The next id of a session, watch or reading.
  std::atomic<bool> stopping_{false};
  std::thread thread_;

  LogHub log_hub_;

  // All members from here on are used only by the loop's thread.
  ClusterState state_;
  absl::Time wake_at_ = absl::InfiniteFuture();
  Sessions sessions_{&log_hub_};
  Watchers watchers_{&state_.ended};
  Changes changes_;        // The changes that are not in a commit yet.
  std::vector<Ack> acks_;  // The answers to the requests that made `changes_`.
  bool committing_ = false;
  Changes in_commit_;
  std::vector<Ack> acks_in_commit_;
  absl::Time retry_at_ = absl::InfinitePast();  // No commit begins before this time.
  absl::Duration backoff_;
  absl::Status store_error_;  // The error of the last commit. OK if it succeeded.
  common::LogThrottle absences_;
  common::LogThrottle unrests_;
};

}  // namespace accel::coordinator
