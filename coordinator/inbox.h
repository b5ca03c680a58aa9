// Where other threads leave work for the coordinator's loop. Changes wait while a commit is under
// way (what they lead to could not be published anyhow, and they share the next commit); questions
// about what is committed do not.
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

// Changes.
struct SubmitEvent {
  std::string submit_id;
  v1::JobSpec spec;
  absl::AnyInvocable<void(absl::StatusOr<common::JobId>)> done;
};
struct CancelEvent {
  common::JobId job;
  bool at_once = false;
  absl::AnyInvocable<void(absl::Status)> done;
};
struct SessionOpened {
  SessionId session = 0;
  AgentCallbacks callbacks;
};
// The newest report of a session, with the moment at which it came in.
struct ReportEvent {
  SessionId session = 0;
  v1::NodeObserved observed;
  absl::Time at;
  int64_t bytes = 0;  // In memory.
  // There was no room for it: its session is to end with this.
  absl::Status refused;
};
struct SessionClosed {
  SessionId session = 0;
};
using ChangeEvent =
    std::variant<SubmitEvent, CancelEvent, SessionOpened, ReportEvent, SessionClosed>;

// Questions.
struct WatchEvent {
  WatchId watch = 0;
  common::JobId job;
  uint64_t known_version = 0;
  absl::AnyInvocable<void(absl::StatusOr<JobPtr>)> on_change;
};
struct UnwatchEvent {
  WatchId watch = 0;
};
struct ListJobsEvent {
  common::JobId job;
  absl::AnyInvocable<void(absl::StatusOr<std::vector<JobPtr>>)> done;
};
struct ListNodesEvent {
  absl::AnyInvocable<void(absl::StatusOr<v1::ListNodesResponse>)> done;
};
struct ReadLogsEvent {
  LogReadId read = 0;
  v1::ReadLogsRequest request;
  std::shared_ptr<LogPipe> pipe;
};
struct EndReadLogsEvent {
  LogReadId read = 0;
};
using QueryEvent = std::variant<WatchEvent, UnwatchEvent, ListJobsEvent, ListNodesEvent,
                                ReadLogsEvent, EndReadLogsEvent>;

// Thread-safe.
class Inbox {
 public:
  // Requests of clients that wait at once; more are refused.
  static constexpr size_t kMostRequests = 20'000;
  // Of reports that wait, in memory.
  static constexpr int64_t kMostReportBytes = int64_t{512} << 20;

  struct Contents {
    std::vector<ChangeEvent> changes;
    std::vector<QueryEvent> queries;
    std::optional<absl::Status> committed;  // The end of the commit under way.

    bool empty() const { return changes.empty() && queries.empty() && !committed.has_value(); }
  };

  explicit Inbox(common::Clock* clock) : clock_(clock) {}

  // RESOURCE_EXHAUSTED: too many requests wait. UNAVAILABLE: closed. The event is then still the
  // caller's.
  absl::Status Request(ChangeEvent& event);
  absl::Status Request(QueryEvent& event);

  // What the coordinator itself must hear is never refused; once closed it is dropped. There is at
  // most one end for each request that was taken.
  void Tell(ChangeEvent event);
  void Tell(QueryEvent event);
  // Replaces a report of the same session that still waits. Without room for it, the session's end
  // is what waits.
  void TellReport(SessionId session, v1::NodeObserved observed);
  void TellCommitted(absl::Status status);

  // Takes all that waits; changes only if asked for.
  Contents Take(bool with_changes);

  // Refuses and drops from now on.
  void Close();

  // Until something comes in, or the timeout.
  void Wait(absl::Duration timeout) { wakeup_.WaitFor(timeout); }
  // Ends the wait.
  void Wake() { wakeup_.Notify(); }

 private:
  absl::Status CheckRoom(size_t waiting) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  common::Clock* const clock_;
  common::Wakeup wakeup_;
  absl::Mutex mutex_;
  Contents contents_ ABSL_GUARDED_BY(mutex_);
  // Where in contents_.changes the waiting report of a session is.
  absl::flat_hash_map<SessionId, size_t> reports_ ABSL_GUARDED_BY(mutex_);
  int64_t report_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace accel::coordinator
