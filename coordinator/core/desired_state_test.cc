#include "coordinator/core/desired_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/core/observe.h"
#include "coordinator/core/planner.h"
#include "coordinator/core/requests.h"

namespace accel::coordinator {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

ClusterState OneNode() {
  ClusterState state;
  NodeEntry& node = state.nodes[common::NodeId("a")];
  node.session = 1;
  node.last_heard = kNow;
  node.observed.set_node_id("a");
  node.observed.set_name("a");
  node.observed.set_incarnation("a-1");
  return state;
}

v1::NodeDesired DesiredOf(const ClusterState& state, const std::string& node) {
  SharedStarts starts;
  return Whole(
      BuildDesired(state, state.nodes.at(common::NodeId(node)), {}, /*version=*/1, &starts));
}

// Agents report more than twice within the timeout after which they count as lost.
TEST(Heartbeat, FollowsTheTimeoutOfNodes) {
  for (const absl::Duration timeout :
       {absl::Milliseconds(500), absl::Seconds(1), absl::Seconds(2), absl::Seconds(5)}) {
    ClusterState state = OneNode();
    state.limits.node_timeout = timeout;
    const v1::NodeDesired desired = DesiredOf(state, "a");
    EXPECT_LT(2 * absl::Milliseconds(desired.heartbeat_ms()), timeout);
    EXPECT_GE(desired.heartbeat_ms(), 200);
  }
  ClusterState patient = OneNode();
  patient.limits.node_timeout = absl::Hours(1);
  EXPECT_EQ(DesiredOf(patient, "a").heartbeat_ms(), 2000);
}

// With 10,000 nodes, ten times as many reports would arrive in the same time.
TEST(Heartbeat, GrowsWithTheNumberOfNodes) {
  ClusterState state;
  Changes changes;
  const auto connect = [&](int node) {
    v1::NodeObserved report;
    report.set_node_id(absl::StrCat("n", node));
    report.set_name(absl::StrCat("n", node));
    report.set_incarnation("1");
    report.set_sequence(1);
    SessionId superseded = 0;
    ASSERT_OK(Observe(static_cast<SessionId>(node), report, absl::UnixEpoch(), &state, &changes,
                      &superseded));
  };
  for (int node = 1; node <= 1000; ++node) connect(node);
  EXPECT_EQ(NodeTimeout(state), absl::Seconds(3));
  const absl::Duration heartbeat = Heartbeat(state);
  changes = {};
  connect(1001);
  EXPECT_EQ(NodeTimeout(state), absl::Seconds(6));
  EXPECT_EQ(Heartbeat(state), 2 * heartbeat);
  EXPECT_EQ(changes.nodes.size(), 1001u) << "every node is told";
  for (int node = 1; node <= 1001; ++node) {
    CloseSession(static_cast<SessionId>(node), common::NodeId(absl::StrCat("n", node)), &state);
  }
  EXPECT_EQ(state.connected, 0);
  EXPECT_EQ(NodeTimeout(state), absl::Seconds(6)) << "nodes may still report at the longer pace";
}

TEST(Heartbeat, AnotherIntervalIsAnotherDesiredState) {
  ClusterState state = OneNode();
  const std::string before = DesiredSignature(state, state.nodes.at(common::NodeId("a")), {});
  EXPECT_EQ(DesiredSignature(state, state.nodes.at(common::NodeId("a")), {}), before);
  state.limits.node_timeout = absl::Seconds(1);
  EXPECT_NE(DesiredSignature(state, state.nodes.at(common::NodeId("a")), {}), before);
}

// Returns the peers of the store of a job on nodes with these addresses. Each node has one rank, or
// two if there is one node. Checks that the peers remain the same when the addresses change.
std::vector<std::string> StorePeers(const std::vector<std::string>& addresses) {
  ClusterState state;
  Changes changes;
  v1::JobSpec spec;
  spec.add_argv("train");
  spec.set_nodes(static_cast<int>(addresses.size()));
  spec.add_processes_per_node(addresses.size() == 1 ? 2 : 1);
  EXPECT_TRUE(SubmitJob("s", spec, kNow, &state, &changes).ok());
  for (size_t i = 0; i < addresses.size(); ++i) {
    v1::NodeObserved report;
    report.set_node_id(std::string(1, static_cast<char>('a' + i)));
    report.set_name(report.node_id());
    report.set_incarnation("1");
    report.set_sequence(1);
    report.set_address(addresses[i]);
    *report.add_addresses() = "192.0.2." + std::to_string(i);
    for (const std::string& address : {addresses[i], std::string("127.0.0.1")}) {
      v1::StoreSocket* socket = report.add_store_sockets();
      socket->set_id(static_cast<uint64_t>(report.store_sockets_size()));
      socket->set_address(address);
      socket->set_port(7000);
    }
    SessionId superseded = 0;
    EXPECT_TRUE(Observe(i + 1, report, kNow, &state, &changes, &superseded).ok());
  }
  PlanToRest(kNow, kNow, &state, &changes);
  const auto peers = [&state] {
    const v1::NodeDesired desired = DesiredOf(state, "a");
    const auto& list = desired.generations(0).store_peers();
    return std::vector<std::string>(list.begin(), list.end());
  };
  const std::vector<std::string> before = peers();
  for (auto& [id, node] : state.nodes) node.observed.set_address("10.9.9.9");
  EXPECT_EQ(peers(), before);
  return before;
}

TEST(StorePeers, AreTheNodesAsTheyWerePlanned) {
  using List = std::vector<std::string>;
  // The ranks of one node use loopback, so no other host may connect.
  EXPECT_EQ(StorePeers({"10.0.0.1"}), (List{"127.0.0.1", "::1"}));
  // A host with several interfaces may connect from any of its addresses.
  EXPECT_EQ(StorePeers({"10.0.0.1", "10.0.0.2"}),
            (List{"10.0.0.1", "10.0.0.2", "192.0.2.0", "192.0.2.1"}));
  // A connection to any loopback address has the first loopback address as its source.
  EXPECT_EQ(StorePeers({"127.0.0.2"}), (List{"127.0.0.1", "::1"}));
  EXPECT_EQ(StorePeers({"::1"}), (List{"127.0.0.1", "::1"}));
  // The peers are numeric addresses, because the store resolves no names.
  EXPECT_EQ(StorePeers({"localhost"}), (List{"127.0.0.1", "::1"}));
}

// Returns the first report of a node with one spare store socket.
v1::NodeObserved Report(const std::string& name) {
  v1::NodeObserved report;
  report.set_node_id(name);
  report.set_name(name);
  report.set_incarnation("1");
  report.set_sequence(1);
  report.set_address("10.0.0.1");
  v1::StoreSocket* socket = report.add_store_sockets();
  socket->set_id(1);
  socket->set_address(report.address());
  socket->set_port(7000);
  return report;
}

// Returns a cluster of four nodes that runs one job with a process on each. The last node has
// another interface than the others.
ClusterState FourNodes() {
  ClusterState state;
  Changes changes;
  v1::JobSpec spec;
  spec.add_argv("train");
  spec.set_nodes(4);
  spec.add_processes_per_node(1);
  spec.set_cpu(true);
  v1::EnvVar* variable = spec.add_env();
  variable->set_name("LR");
  variable->set_value("0.1");
  EXPECT_TRUE(SubmitJob("s", spec, kNow, &state, &changes).ok());
  for (const char* name : {"a", "b", "c", "d"}) {
    v1::NodeObserved report = Report(name);
    report.set_interface(name[0] == 'd' ? "eth1" : "eth0");
    SessionId superseded = 0;
    EXPECT_TRUE(
        Observe(static_cast<SessionId>(name[0]), report, kNow, &state, &changes, &superseded).ok());
  }
  PlanToRest(kNow, kNow, &state, &changes);
  return state;
}

std::map<std::string, std::string> EnvOf(const v1::DesiredGeneration& generation) {
  std::map<std::string, std::string> env;
  for (const v1::EnvVar& variable : generation.env()) {
    EXPECT_TRUE(env.emplace(variable.name(), variable.value()).second) << variable.name();
  }
  return env;
}

TEST(SharedStarts, EachNodeHasItsOwnRankAndInterface) {
  const ClusterState state = FourNodes();
  SharedStarts starts;
  int rank = 0;
  for (const char* name : {"a", "b", "c", "d"}) {
    const v1::NodeDesired desired =
        Whole(BuildDesired(state, state.nodes.at(common::NodeId(name)), {}, 1, &starts));
    ASSERT_EQ(desired.generations_size(), 1);
    const v1::DesiredGeneration& start = desired.generations(0);
    EXPECT_EQ(start.argv(0), "train");
    const auto env = EnvOf(start);
    EXPECT_EQ(env.at("LR"), "0.1");
    EXPECT_EQ(env.at("WORLD_SIZE"), "4");
    EXPECT_EQ(env.at("GROUP_RANK"), std::to_string(rank));
    EXPECT_EQ(env.at("ACCEL_NODE"), name);
    EXPECT_EQ(env.at("GLOO_SOCKET_IFNAME"), name[0] == 'd' ? "eth1" : "eth0");
    EXPECT_EQ(start.workers(0).rank(), rank++);
    EXPECT_EQ(start.store_socket() != 0, rank == 1);
  }
}

TEST(SharedStarts, AreEncodedOnceForAllNodesThatAreAlike) {
  const ClusterState state = FourNodes();
  SharedStarts starts;
  std::vector<const SharedStart*> shared;
  for (const char* name : {"a", "b", "c", "d"}) {
    const Desired desired =
        BuildDesired(state, state.nodes.at(common::NodeId(name)), {}, 1, &starts);
    shared.push_back(desired.generations.at(0).shared.get());
    // What is left is small, because it is made for each node.
    EXPECT_LT(desired.generations.at(0).own.ByteSizeLong(), 250u);
  }
  EXPECT_EQ(shared[0], shared[1]);
  EXPECT_EQ(shared[0], shared[2]);
  EXPECT_NE(shared[0], shared[3]);
}

// Nodes that have other GPUs, or another number of processes, must not get each other's.
TEST(SharedStarts, NodesWithOtherGpusOrProcessesShareNothing) {
  ClusterState state;
  Changes changes;
  v1::JobSpec spec;
  spec.add_argv("train");
  spec.set_nodes(3);
  for (const int processes : {2, 2, 1}) spec.add_processes_per_node(processes);
  ASSERT_TRUE(SubmitJob("s", spec, kNow, &state, &changes).ok());
  for (const char* name : {"a", "b", "c"}) {
    v1::NodeObserved report = Report(name);
    for (const int gpu : {0, 1}) {
      report.mutable_inventory()->add_gpus()->set_index(name[0] == 'b' ? gpu + 4 : gpu);
    }
    SessionId superseded = 0;
    const auto session = static_cast<SessionId>(name[0]);
    ASSERT_OK(Observe(session, report, kNow, &state, &changes, &superseded));
  }
  PlanToRest(kNow, kNow, &state, &changes);
  SharedStarts starts;
  std::vector<std::pair<std::string, std::string>> seen;
  for (const char* name : {"a", "b", "c"}) {
    const Desired desired =
        BuildDesired(state, state.nodes.at(common::NodeId(name)), {}, 1, &starts);
    const auto env = EnvOf(Whole(desired).generations(0));
    seen.emplace_back(env.at("CUDA_VISIBLE_DEVICES"), env.at("LOCAL_WORLD_SIZE"));
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(std::pair("0,1", "2"), std::pair("4,5", "2"),
                                           std::pair("0", "1")));
}

// A generation may be planned and given up before a commit succeeds. The node is then told neither,
// but it gets new work only after it has acted on a later state.
TEST(Desired, ANodeThatHasToActOnALaterStateGetsOne) {
  ClusterState state = OneNode();
  NodeEntry& node = state.nodes.at(common::NodeId("a"));
  const std::string before = DesiredSignature(state, node, {});
  node.settled_from = 5;
  EXPECT_NE(DesiredSignature(state, node, {}), before);
}

}  // namespace
}  // namespace accel::coordinator
