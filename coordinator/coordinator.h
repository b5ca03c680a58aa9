// What the coordinator does for clients and agents, without a word about the wire. The gRPC service
// calls this, and so does `accel launch`, which holds a coordinator and an agent in its own
// process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "coordinator/log_pipe.h"
#include "proto/job.pb.h"
#include "proto/node.pb.h"
#include "proto/service.pb.h"

namespace accel::coordinator {

using JobPtr = std::shared_ptr<const v1::Job>;
using DesiredPtr = std::shared_ptr<const v1::NodeDesired>;

// Something that goes on until this is destroyed. A callback that is under way on another thread at
// that moment still finishes: callbacks should own, or weakly refer to, what they touch.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

// An agent's end of its stream. Destroying it closes the stream.
class AgentSession : public Subscription {
 public:
  // The whole observed state. The newest one counts: one that was not looked at yet is replaced.
  virtual void Report(v1::NodeObserved observed) = 0;
};

struct AgentCallbacks {
  // The whole desired state, each time it has changed; the first comes in answer to the first
  // report.
  absl::AnyInvocable<void(DesiredPtr)> on_desired;
  // The coordinator has ended the session; nothing follows. ALREADY_EXISTS: a newer stream of this
  // node has taken over. INVALID_ARGUMENT: a report that makes no sense. UNAVAILABLE: the
  // coordinator is ending.
  absl::AnyInvocable<void(absl::Status)> on_closed;
};

// Thread-safe; no call blocks. Callbacks come one at a time on the coordinator's own thread (or,
// for a refusal, before the call returns), never under a lock, and may call back in; they must not
// block. What a callback learns is committed. After the coordinator has stopped every callback gets
// UNAVAILABLE.
class Coordinator {
 public:
  virtual ~Coordinator() = default;

  // The same submit_id is the same job. Errors: see SubmitJob in proto/service.proto.
  virtual void SubmitJob(std::string submit_id, v1::JobSpec spec,
                         absl::AnyInvocable<void(absl::StatusOr<common::JobId>)> done) = 0;

  // NOT_FOUND: no such job.
  virtual void CancelJob(common::JobId job, bool at_once,
                         absl::AnyInvocable<void(absl::Status)> done) = 0;

  // The job at once if it is newer than known_version or in a final phase, then each version (some
  // may be skipped). Nothing follows a final phase or an error. NOT_FOUND: no such job.
  // RESOURCE_EXHAUSTED: too many watchers.
  virtual std::unique_ptr<Subscription> WatchJob(
      common::JobId job, uint64_t known_version,
      absl::AnyInvocable<void(absl::StatusOr<JobPtr>)> on_change) = 0;

  // An empty id: all jobs, oldest first. NOT_FOUND: no such job.
  virtual void ListJobs(common::JobId job,
                        absl::AnyInvocable<void(absl::StatusOr<std::vector<JobPtr>>)> done) = 0;

  virtual void ListNodes(absl::AnyInvocable<void(absl::StatusOr<v1::ListNodesResponse>)> done) = 0;

  virtual std::unique_ptr<AgentSession> OpenAgentSession(AgentCallbacks callbacks) = 0;

  // The output comes through the pipe, and so do errors: NOT_FOUND, UNAVAILABLE (see ReadLogs in
  // proto/service.proto), RESOURCE_EXHAUSTED: too many readers.
  virtual std::unique_ptr<Subscription> ReadLogs(v1::ReadLogsRequest request,
                                                 std::shared_ptr<LogPipe> pipe) = 0;

  // For an agent that finds a LogReader in its desired state. Null: nobody reads under this id (any
  // more).
  virtual std::shared_ptr<LogPipe> FindLogPipe(const std::string& reader_id) = 0;
};

}  // namespace accel::coordinator
