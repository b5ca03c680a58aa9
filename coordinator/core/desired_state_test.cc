#include "coordinator/core/desired_state.h"

#include <gtest/gtest.h>

namespace accel {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

ClusterState OneNode() {
  ClusterState state;
  NodeEntry& node = state.nodes[NodeId("a")];
  node.session = 1;
  node.last_heard = kNow;
  node.observed.set_node_id("a");
  node.observed.set_name("a");
  node.observed.set_incarnation("a-1");
  return state;
}

// Agents report more than twice within the time after which they count as lost.
TEST(Heartbeat, FollowsTheTimeoutOfNodes) {
  for (const absl::Duration timeout :
       {absl::Milliseconds(500), absl::Seconds(1), absl::Seconds(2), absl::Seconds(5)}) {
    ClusterState state = OneNode();
    state.limits.node_timeout = timeout;
    const v1::NodeDesired desired = BuildDesired(state, NodeId("a"), {}, 1);
    EXPECT_LT(2 * absl::Milliseconds(desired.heartbeat_ms()), timeout);
    EXPECT_GE(desired.heartbeat_ms(), 200);
  }
  ClusterState patient = OneNode();
  patient.limits.node_timeout = absl::Hours(1);
  EXPECT_EQ(BuildDesired(patient, NodeId("a"), {}, 1).heartbeat_ms(), 2000);
}

TEST(Heartbeat, AnotherOneIsAnotherDesiredState) {
  ClusterState state = OneNode();
  const std::string before = DesiredSignature(state, NodeId("a"), {});
  EXPECT_EQ(DesiredSignature(state, NodeId("a"), {}), before);
  state.limits.node_timeout = absl::Seconds(1);
  EXPECT_NE(DesiredSignature(state, NodeId("a"), {}), before);
}

}  // namespace
}  // namespace accel
