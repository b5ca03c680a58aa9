// The queue of events from other threads to the coordinator's loop. There are two kinds of events.
// Queries read committed state, and the loop always takes them. Changes are not taken while a
// commit is in progress. Their results could not be published before its end, and together they
// need only one more commit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/wakeup.h"
#include "coordinator/coordinator.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

using WatchId = uint64_t;
using LogReadId = uint64_t;

// The changes.
struct SubmitEvent {
  Caller caller;
  std::string submit_id;
  v1::JobSpec spec;
  absl::AnyInvocable<void(absl::StatusOr<common::JobId>)> done;
};
struct CancelEvent {
  Caller caller;
  common::JobId job;
  bool at_once = false;
  absl::AnyInvocable<void(absl::Status)> done;
};
struct DrainEvent {
  std::string node;
  v1::Drain drain = v1::NOT_DRAINED;
  absl::AnyInvocable<void(absl::Status)> done;
};
struct AccessEvent {
  AccessAct act;
  absl::AnyInvocable<void(absl::Status)> done;
};
struct SessionOpened {
  SessionId session = 0;
  Caller caller;
  AgentCallbacks callbacks;
};
// The newest report of a session and when it arrived.
struct ReportEvent {
  SessionId session = 0;
  NodeReport report;
  absl::Time at;
  int64_t bytes = 0;  // Memory that `report` takes.
  // If not OK, there was no room for the report. Its session must be ended with this status.
  absl::Status refused;
};
struct SessionClosed {
  SessionId session = 0;
};
using ChangeEvent = std::variant<SubmitEvent, CancelEvent, DrainEvent, AccessEvent, SessionOpened,
                                 ReportEvent, SessionClosed>;

// The queries.
struct WatchEvent {
  WatchId watch = 0;
  Caller caller;
  common::JobId job;
  uint64_t known_version = 0;
  absl::AnyInvocable<void(absl::StatusOr<JobPtr>)> on_change;
};
struct UnwatchEvent {
  WatchId watch = 0;
};
struct ListJobsEvent {
  Caller caller;
  common::JobId job;
  absl::AnyInvocable<void(absl::StatusOr<std::vector<JobPtr>>)> done;
};
struct ListNodesEvent {
  absl::AnyInvocable<void(absl::StatusOr<v1::ListNodesResponse>)> done;
};
struct ReadLogsEvent {
  LogReadId read = 0;
  Caller caller;
  v1::ReadLogsRequest request;
  std::shared_ptr<LogPipe> pipe;
};
struct EndReadLogsEvent {
  LogReadId read = 0;
};
// Says that the stream of a relay has ended. LogPipe::Open() had accepted it.
struct EndRelayEvent {
  std::string reader_id;
};
using QueryEvent = std::variant<WatchEvent, UnwatchEvent, ListJobsEvent, ListNodesEvent,
                                ReadLogsEvent, EndReadLogsEvent, EndRelayEvent>;

// Thread-safe.
class Inbox {
 public:
  // If this many events of one kind are pending, further requests of that kind are rejected.
  static constexpr size_t kMaxRequests = 20'000;
  // Maximum memory of all pending reports.
  static constexpr int64_t kMaxReportBytes = int64_t{512} << 20;
  // Reports without news end Wait() this often.
  static constexpr absl::Duration kQuiet = absl::Milliseconds(250);

  struct Contents {
    std::vector<ChangeEvent> changes;
    std::vector<QueryEvent> queries;
    std::optional<absl::Status> committed;  // The result of a commit that has ended.

    bool empty() const { return changes.empty() && queries.empty() && !committed.has_value(); }
  };

  explicit Inbox(common::Clock* clock) : clock_(clock) {}

  // Adds a request of a client or agent. RESOURCE_EXHAUSTED: too many events are pending.
  // UNAVAILABLE: the inbox is closed. After an error, the caller still owns the event.
  absl::Status Request(ChangeEvent& event);
  absl::Status Request(QueryEvent& event);

  // Adds an event that says that a watch, a reading, a session or a relay is over. It is accepted
  // even if the inbox is full, because the coordinator would otherwise keep the ended object
  // forever. The number of these events is bounded, because each accepted request has at most one
  // end, and each reader has at most one open relay. A closed inbox drops the event.
  void Post(ChangeEvent event);
  void Post(QueryEvent event);
  // Adds a report. It replaces a pending report of the same session. If there is no room for it,
  // adds an empty report with `refused` instead, which no other replaces. A closed inbox drops the
  // report. A report without news ends Wait() only if no report has done so within kQuiet, because
  // what follows from it can wait: it postpones the silence of its node.
  void PostReport(SessionId session, NodeReport report);
  // Adds the result of the commit in progress.
  void PostCommitted(absl::Status status);

  // Removes and returns all pending queries and the result of the commit. If `with_changes` is set,
  // also removes and returns all pending changes.
  Contents Take(bool with_changes);

  // Closes the inbox: it rejects requests and drops all other events from now on, except the result
  // of a commit.
  void Close();

  // Blocks until an event is added that does not wait, Wake() is called, or the timeout has passed.
  // Returns false if the timeout has passed.
  bool Wait(absl::Duration timeout) { return wakeup_.WaitFor(timeout); }
  // Ends Wait().
  void Wake() { wakeup_.Notify(); }

 private:
  absl::Status CheckRoom(size_t waiting) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  common::Clock* const clock_;
  common::Wakeup wakeup_;
  absl::Mutex mutex_;
  Contents contents_ ABSL_GUARDED_BY(mutex_);
  // The index in contents_.changes of each session's pending report.
  absl::flat_hash_map<SessionId, size_t> reports_ ABSL_GUARDED_BY(mutex_);
  int64_t report_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time quiet_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace accel::coordinator
