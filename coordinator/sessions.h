// The open streams of agents, and the desired state that each received last. Not thread-safe: only
// the loop's thread uses it.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "common/log_throttle.h"
#include "coordinator/coordinator.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/desired_state.h"
#include "coordinator/inbox.h"
#include "coordinator/log_hub.h"

namespace accel::coordinator {

class Sessions {
 public:
  static constexpr size_t kMaxSessions = 20'000;

  // `log_hub` must outlive this object.
  explicit Sessions(LogHub* log_hub) : log_hub_(*log_hub) {}

  // Adds a session. If there are too many, ends it immediately with RESOURCE_EXHAUSTED.
  void Open(SessionOpened opened);
  // Writes the report into the state. Ends this session if the report is refused, and ends an older
  // session of the node if this one has taken over.
  void Report(ReportEvent event, ClusterState* state, Changes* changes);
  // Ends the session of a node whose certificate is no longer valid. The generations on the node
  // are lost immediately. Does nothing to a node on the coordinator's own machine, which
  // has no certificate.
  void Expel(const common::NodeId& node, ClusterState* state, Changes* changes);
  // Removes a session that its agent has closed.
  void Drop(SessionId session, ClusterState* state);

  // Sends the node its desired state if the node is connected and the desired state differs from
  // the one that it received last. A node with jobs also gets it again when its clock needs the
  // answer: see coordinator/core/node_clock.h. `starts` must have been used for this state only.
  void Publish(const common::NodeId& node, absl::Time now, ClusterState* state,
               SharedStarts* starts);

  // Ends all sessions with UNAVAILABLE.
  void Close();

 private:
  struct Session {
    AgentCallbacks callbacks;
    Caller caller;
    common::NodeId node;  // Empty before the first report.
    // The signature of the desired state that was sent last. If empty, none was sent.
    std::string signature;
  };

  void End(SessionId session, absl::Status why, ClusterState* state);

  void Leave(SessionId session, const common::NodeId& node, ClusterState* state);

  void NoteStale(absl::Time now, const ClusterState& state);

  LogHub& log_hub_;
  common::LogThrottle stale_{absl::Minutes(1)};
  absl::flat_hash_map<SessionId, Session> sessions_;
};

}  // namespace accel::coordinator
