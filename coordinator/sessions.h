// The streams of agents, and what each was last told. One thread, the loop's, calls all of it.
#pragma once

#include <map>
#include <string>

#include "common/log_throttle.h"
#include "coordinator/coordinator.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/inbox.h"
#include "coordinator/log_hub.h"

namespace accel::coordinator {

class Sessions {
 public:
  static constexpr size_t kMostSessions = 20'000;

  // The hub outlives this.
  explicit Sessions(LogHub* log_hub) : log_hub_(*log_hub) {}

  // Over the bound the session is ended at once: RESOURCE_EXHAUSTED.
  void Open(SessionOpened opened);
  // Takes the report into the state; ends the session that it shows to be wrong or superseded.
  void Report(ReportEvent report, ClusterState* state, Changes* changes);
  // The agent has gone.
  void Drop(SessionId session, ClusterState* state);

  // Sends the node its desired state if it is connected and the state differs from what it was told
  // last.
  void Publish(const common::NodeId& node, ClusterState* state);

  // Everybody hears UNAVAILABLE.
  void Close();

 private:
  struct Session {
    AgentCallbacks callbacks;
    common::NodeId node;    // Empty before the first report.
    std::string signature;  // Of the desired state last sent; empty: none was.
  };

  void End(SessionId session, absl::Status why, ClusterState* state);

  void Leave(SessionId session, const common::NodeId& node, ClusterState* state);

  void NoteStale(absl::Time now, const ClusterState& state);

  LogHub& log_hub_;
  common::LogThrottle stale_{absl::Minutes(1)};
  std::map<SessionId, Session> sessions_;
};

}  // namespace accel::coordinator
