// The interface of the coordinator for clients and agents, independent of gRPC. The gRPC service
// calls it. `accel launch` calls it directly, because it has a coordinator and an agent in
// its own process.
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
#include "coordinator/core/node_report.h"
#include "coordinator/log_pipe.h"
#include "proto/job.pb.h"
#include "proto/service.pb.h"

namespace accel::coordinator {

using JobPtr = std::shared_ptr<const v1::Job>;
using DesiredPtr = std::shared_ptr<const Desired>;

// A subscription that lasts until this object is destroyed. A callback that is running on another
// thread at that time still finishes. A callback should therefore own the objects that it uses, or
// hold weak pointers to them.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

// An agent's end of its stream. Destroying it closes the stream.
class AgentSession : public Subscription {
 public:
  // Sends the whole observed state. It replaces an earlier report that the coordinator has not read
  // yet. A report that lacks what is not new must come from the session's own ReportReader, and
  // each report of that reader must be sent.
  virtual void Report(NodeReport report) = 0;
};

struct AgentCallbacks {
  // Called with the whole desired state each time it has changed. The first call answers the first
  // report. Nodes with jobs also get an unchanged desired state about once a minute.
  absl::AnyInvocable<void(DesiredPtr)> on_desired;
  // Called once, as the last callback, when the coordinator ends the session. Errors are those of
  // Observe() in coordinator/core/observe.h, and:
  //
  // * ALREADY_EXISTS: a newer stream of this node has taken over.
  // * PERMISSION_DENIED: a report has another node id or name than the caller's certificate.
  // * UNAUTHENTICATED: the node's certificate was revoked, or the node was removed.
  // * RESOURCE_EXHAUSTED: too many sessions, requests or reports are pending or open.
  // * UNAVAILABLE: the coordinator is shutting down.
  absl::AnyInvocable<void(absl::Status)> on_closed;
};

// Thread-safe, and no call blocks. Callbacks run one at a time on the coordinator's thread, without
// a lock. They may call the coordinator, and must not block. If a request is refused, its callback
// may run before the call returns. After the coordinator has stopped, every callback gets
// UNAVAILABLE. The jobs, ids and desired states that callbacks receive are committed.
//
// `caller` is who makes the request. The table of access was already checked
// (coordinator/access/access_table.h), so the caller may make requests of this kind. The
// coordinator decides whether the caller may make this request about this job. Callers who do not
// own a job get it without its command and environment (coordinator/access/job_access.h).
class Coordinator {
 public:
  virtual ~Coordinator() = default;

  // Submits a job, which then belongs to the caller. A repeated submit_id returns the same job. The
  // errors are those of SubmitJob in proto/service.proto.
  virtual void SubmitJob(const Caller& caller, std::string submit_id, v1::JobSpec spec,
                         absl::AnyInvocable<void(absl::StatusOr<common::JobId>)> done) = 0;

  // Cancels a job. `at_once` gives its processes no grace. NOT_FOUND: there is no such job, or it
  // does not belong to the caller.
  virtual void CancelJob(const Caller& caller, common::JobId job, bool at_once,
                         absl::AnyInvocable<void(absl::Status)> done) = 0;

  // Reads or changes the access state: runs `act` on the coordinator's thread. `done` gets the
  // error of `act`, or the result of the commit of its changes.
  virtual void WithAccess(AccessAct act, absl::AnyInvocable<void(absl::Status)> done) = 0;

  // Drains the node with this name or id. The errors are those of DrainNode in proto/service.proto.
  virtual void DrainNode(std::string node, v1::Drain drain,
                         absl::AnyInvocable<void(absl::Status)> done) = 0;

  // Calls `on_change` immediately if the job is newer than known_version or in a final phase, and
  // then with each new version. Some versions may be skipped. The last call has a final phase or an
  // error. NOT_FOUND: there is no such job. RESOURCE_EXHAUSTED: there are too many watchers, or the
  // watched jobs are too large.
  virtual std::unique_ptr<Subscription> WatchJob(
      const Caller& caller, common::JobId job, uint64_t known_version,
      absl::AnyInvocable<void(absl::StatusOr<JobPtr>)> on_change) = 0;

  // Lists one job. If the id is empty, lists all jobs, oldest first. NOT_FOUND: there is
  // no such job.
  virtual void ListJobs(const Caller& caller, common::JobId job,
                        absl::AnyInvocable<void(absl::StatusOr<std::vector<JobPtr>>)> done) = 0;

  // Lists the nodes, as their newest reports and the committed jobs show them.
  virtual void ListNodes(absl::AnyInvocable<void(absl::StatusOr<v1::ListNodesResponse>)> done) = 0;

  // Opens the stream of one agent. A caller that is a node may report only about itself.
  virtual std::unique_ptr<AgentSession> OpenAgentSession(const Caller& caller,
                                                         AgentCallbacks callbacks) = 0;

  // Reads the output of a job. The output and errors arrive through the pipe. The errors are those
  // of ReadLogs in proto/service.proto.
  virtual std::unique_ptr<Subscription> ReadLogs(const Caller& caller, v1::ReadLogsRequest request,
                                                 std::shared_ptr<LogPipe> pipe) = 0;

  // Returns the pipe to which an agent relays output for a LogReader in its desired state. Returns
  // null if the id is unknown, for example because the client has disconnected. Also returns null
  // if the caller is a node other than the one that must relay.
  virtual std::shared_ptr<LogPipe> FindLogPipe(const Caller& caller,
                                               const std::string& reader_id) = 0;
  // Notes that the stream of a relay, which LogPipe::Open() has accepted, has ended. If the relay
  // had not finished, its node is asked to open another one.
  virtual void EndRelay(std::string reader_id) = 0;
};

}  // namespace accel::coordinator
