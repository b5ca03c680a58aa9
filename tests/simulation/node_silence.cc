#include "tests/simulation/node_silence.h"

#include <algorithm>

#include "coordinator/core/cluster_state.h"
#include "coordinator/core/presence.h"

namespace accel::simulation {
namespace {

// Maximum time in which a node that is connected again ends generations that are no longer wanted:
// the time to connect, the grace, and the pauses of its agent.
constexpr absl::Duration kEndsLeftovers = absl::Seconds(30);

}  // namespace

void NodeSilence::NoteCoordinator(const SimulatedCoordinator& coordinator, absl::Time now) {
  present_ = coordinator.runs();
  if (!present_) return;
  // After a longer gap the coordinator notices that it was away (coordinator/core/presence.h).
  const absl::Duration longest_gap = 2 * coordinator::LongestWait(coordinator::ClusterState());
  if (now - listened_at_ > longest_gap) present_since_ = now;
  listened_at_ = now;
}

void NodeSilence::NoteNode(const UnreliableNode& node, bool moves_jobs, absl::Time now) {
  const absl::Duration limit = coordinator::Limits().node_timeout - turn_;
  const absl::Time heard = node.link().last_heard();
  const bool is_connected = present_ && node.link().is_accepted() && now < heard + limit;
  if (moves_jobs && !is_connected) abandoned_[node.name()] = now;
  // A node that says goodbye is lost at once.
  if (node.shuts_down()) {
    left_[node.name()] = now;
    given_up_[node.name()] = now;
    excused_until_[node.name()] = now + kEndsLeftovers;
    return;
  }
  if (present_ && now >= std::max(heard, present_since_) + limit) {
    given_up_[node.name()] = now;
    excused_until_[node.name()] = now + kEndsLeftovers;
    return;
  }
  if (present_ && now < heard + limit && node.agent_runs()) return;
  // The node cannot be asked to end what it has. If it is excused, it remains so.
  const auto excused = excused_until_.find(node.name());
  if (excused == excused_until_.end() || now > excused->second) return;
  excused->second = now + kEndsLeftovers;
}

bool NodeSilence::MayBeLost(const std::string& node, absl::Time since) const {
  const auto given_up = given_up_.find(node);
  return given_up != given_up_.end() && given_up->second >= since;
}

bool NodeSilence::MayHaveLeft(const std::string& node, absl::Time since) const {
  const auto left = left_.find(node);
  return left != left_.end() && left->second >= since;
}

bool NodeSilence::MayBeGivenUp(const std::string& node, absl::Time since) const {
  const auto abandoned = abandoned_.find(node);
  return abandoned != abandoned_.end() && abandoned->second >= since;
}

bool NodeSilence::IsExcused(const std::string& node, absl::Time since, absl::Time now) const {
  return MayBeLost(node, since) && now < excused_until_.at(node);
}

}  // namespace accel::simulation
