// The interface of the coordinator for clients and agents, independent of gRPC. The gRPC
// service calls it. `accel launch` calls it directly, because it has a coordinator and an agent
// in its own process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "coordinator/access/caller.h"
#include "coordinator/access_turn.h"
#include "coordinator/core/desired.h"
#include "coordinator/log_pipe.h"
#include "proto/job.pb.h"
#include "proto/node.pb.h"
#include "proto/service.pb.h"

namespace accel::coordinator {

using JobPtr = std::shared_ptr<const v1::Job>;
using DesiredPtr = std::shared_ptr<const Desired>;

// A subscription that lasts until this object is destroyed. A callback that is running on another
// thread at that time still finishes. Callbacks should therefore own what they use, or hold a weak
// pointer to it.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

// An agent's end of its stream. Destroying it closes the stream.
class AgentSession : public Subscription {
 public:
  // Sends the whole observed state. It replaces an earlier report that was not yet read.
  virtual void Report(v1::NodeObserved observed) = 0;
};

struct AgentCallbacks {
  // Called with the whole desired state each time it has changed. The first call answers
  // the first report.
  absl::AnyInvocable<void(DesiredPtr)> on_desired;
  // Called once, as the last callback, when the coordinator ends the session. ALREADY_EXISTS: a
  // newer stream of this node has taken over. UNAVAILABLE: the coordinator is shutting down. Other
  // errors are those of Observe() in coordinator/core/observe.h, and RESOURCE_EXHAUSTED if too many
  // sessions or reports are open.
  absl::AnyInvocable<void(absl::Status)> on_closed;
};

// Thread-safe, and no call blocks. Callbacks run one at a time on the coordinator's thread. If a
// request is refused, its callback may run before the call returns. Callbacks hold no lock, may
// call the coordinator, and must not block. Everything that they are given is committed. After the
// coordinator has stopped, every callback gets UNAVAILABLE.
//
// `caller` says who makes the request. That he may make requests of this kind was checked before
// (coordinator/access/access_table.h). Whether he may make this one about this job is decided here.
// Callers who may not read a job's command and environment get it without them.
class Coordinator {
 public:
  virtual ~Coordinator() = default;

  // Submits a job, which belongs to the caller. A repeated submit_id returns the same job. Errors:
  // see SubmitJob in proto/service.proto.
  virtual void SubmitJob(const Caller& caller, std::string submit_id, v1::JobSpec spec,
                         absl::AnyInvocable<void(absl::StatusOr<common::JobId>)> done) = 0;

  // Cancels a job. `at_once`: without grace. NOT_FOUND: there is no such job, or it is not the
  // caller's.
  virtual void CancelJob(const Caller& caller, common::JobId job, bool at_once,
                         absl::AnyInvocable<void(absl::Status)> done) = 0;

  // Reads or changes who may enter the cluster. `done` gets the error of `act`, or the result of
  // the commit of its changes.
  virtual void WithAccess(AccessAct act, absl::AnyInvocable<void(absl::Status)> done) = 0;

  // Drains the node with this name or id. Errors: see DrainNode in proto/service.proto.
  virtual void DrainNode(std::string node, v1::Drain drain,
                         absl::AnyInvocable<void(absl::Status)> done) = 0;

  // Calls `on_change` immediately if the job is newer than known_version or in a final phase, and
  // then with each new version (some may be skipped). The last call is that with a final phase or
  // an error. NOT_FOUND: there is no such job. RESOURCE_EXHAUSTED: there are too many watchers.
  virtual std::unique_ptr<Subscription> WatchJob(
      const Caller& caller, common::JobId job, uint64_t known_version,
      absl::AnyInvocable<void(absl::StatusOr<JobPtr>)> on_change) = 0;

  // Lists one job, or all jobs, oldest first, if the id is empty. NOT_FOUND: there is no such job.
  virtual void ListJobs(const Caller& caller, common::JobId job,
                        absl::AnyInvocable<void(absl::StatusOr<std::vector<JobPtr>>)> done) = 0;

  virtual void ListNodes(absl::AnyInvocable<void(absl::StatusOr<v1::ListNodesResponse>)> done) = 0;

  // Opens the stream of one agent. A node that calls may report about itself only.
  virtual std::unique_ptr<AgentSession> OpenAgentSession(const Caller& caller,
                                                         AgentCallbacks callbacks) = 0;

  // Reads the output of a job. The output and errors arrive through the pipe. Errors: see ReadLogs
  // in proto/service.proto.
  virtual std::unique_ptr<Subscription> ReadLogs(const Caller& caller, v1::ReadLogsRequest request,
                                                 std::shared_ptr<LogPipe> pipe) = 0;

  // Returns the pipe to which an agent relays output for a LogReader in its desired state. Returns
  // null if the id is unknown, for example because the client has disconnected, or if another node
  // than the caller must relay.
  virtual std::shared_ptr<LogPipe> FindLogPipe(const Caller& caller,
                                               const std::string& reader_id) = 0;
  // Notes that the stream of a relay, which LogPipe::Open() has accepted, has ended. If the relay
  // had not finished, its node is asked to open another one.
  virtual void EndRelay(std::string reader_id) = 0;
};

}  // namespace accel::coordinator
