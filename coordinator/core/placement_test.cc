#include "coordinator/core/placement.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coordinator/core/devices.h"

namespace accel::coordinator {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

struct FakeNode {
  std::string name;
  int gpus = 0;
  int sockets = 1;
  int cpus = 8;
};

ClusterState Cluster(const std::vector<FakeNode>& nodes) {
  ClusterState state;
  uint64_t socket_id = 100;
  for (const FakeNode& fake : nodes) {
    NodeEntry& node = state.nodes[common::NodeId(fake.name)];
    node.session = 1;
    node.last_heard = kNow;
    node.observed.set_node_id(fake.name);
    node.observed.set_name(fake.name);
    node.observed.set_boot_id(fake.name + "-1");
    node.observed.set_address("10.0.0." + fake.name);
    node.observed.mutable_inventory()->set_cpus(fake.cpus);
    state.gpus_seen |= fake.gpus > 0;
    for (int i = 0; i < fake.gpus; ++i) {
      node.observed.mutable_inventory()->add_gpus()->set_index(i);
    }
    for (int i = 0; i < fake.sockets; ++i) {
      for (const std::string& address : {node.observed.address(), std::string("127.0.0.1")}) {
        v1::StoreSocket* socket = node.observed.add_store_sockets();
        socket->set_id(++socket_id);
        socket->set_address(address);
        socket->set_port(static_cast<int>(socket_id));
      }
    }
  }
  return state;
}

Ledger LedgerOf(const ClusterState& state) {
  Ledger ledger;
  ledger.Update(state, kNow);
  return ledger;
}

// Returns the job's placement after a generation on the nodes `last`, by machine rank, or the first
// one if there was none.
PlacementDecision PlaceOn(const ClusterState& state, const v1::JobSpec& spec, const Ledger& ledger,
                          const std::vector<std::string>& last = {}) {
  v1::Job job;
  *job.mutable_spec() = spec;
  v1::GenerationRecord generation;
  for (const std::string& node : last) generation.add_placements()->set_node_id(node);
  return Place(spec, DevicesOf(job, state), /*avoid=*/{}, last.empty() ? nullptr : &generation,
               ledger);
}

PlacementDecision PlaceOn(const ClusterState& state, const v1::JobSpec& spec) {
  return PlaceOn(state, spec, LedgerOf(state));
}

// Returns, for example, "a:0+3[0,1,2] b:3+4": for each node its name, first rank, number of
// processes and GPUs. Returns the reason in brackets if the job is not placed.
std::string Show(const PlacementDecision& decision) {
  if (!decision.assignment.has_value()) return absl::StrCat("(", decision.reason, ")");
  std::vector<std::string> parts;
  for (const v1::Placement& placement : decision.assignment->placements) {
    parts.push_back(
        absl::StrCat(placement.node_name(), ":", placement.first_rank(), "+", placement.processes(),
                     placement.gpu_ids().empty()
                         ? ""
                         : absl::StrCat("[", absl::StrJoin(placement.gpu_ids(), ","), "]")));
  }
  return absl::StrJoin(parts, " ");
}

v1::JobSpec Spec(int nodes, std::vector<int> processes, bool cpu = false,
                 std::vector<int> gpu_ids = {}) {
  v1::JobSpec spec;
  spec.set_nodes(nodes);
  spec.mutable_processes_per_node()->Add(processes.begin(), processes.end());
  spec.set_cpu(cpu);
  spec.mutable_gpu_ids()->Add(gpu_ids.begin(), gpu_ids.end());
  return spec;
}

struct Case {
  std::vector<FakeNode> nodes;
  v1::JobSpec spec;
  std::string expected;
};

TEST(Placement, Table) {
  const std::vector<Case> cases = {
      // The number of processes is given, or one for each GPU, or one.
      {{{"a"}}, Spec(1, {}), "a:0+1"},
      {{{"a"}}, Spec(1, {4}), "a:0+4"},
      {{{"a", 2}}, Spec(1, {}), "a:0+2[0,1]"},
      {{{"a", 2}}, Spec(1, {}, true), "a:0+1"},
      {{{"a", 4}}, Spec(1, {2}), "a:0+2[0,1]"},
      {{{"a", 4}}, Spec(1, {}, false, {1, 3}), "a:0+2[1,3]"},
      {{{"a", 4}}, Spec(1, {1}, false, {3, 1}), "a:0+1[1]"},
      // Ranks are dense, in the order of the nodes' names.
      {{{"c"}, {"a"}, {"b"}}, Spec(2, {2}), "a:0+2 b:2+2"},
      {{{"b"}, {"a"}}, Spec(2, {3, 4}), "a:0+3 b:3+4"},
      {{{"a", 2}, {"b", 3}}, Spec(2, {}), "a:0+2[0,1] b:2+3[0,1,2]"},
      // With unequal needs on unequal nodes, a fit is worth more than the order of names.
      {{{"a", 4}, {"b", 1}}, Spec(2, {1, 4}), "b:0+1[0] a:1+4[0,1,2,3]"},
      {{{"a", 1}, {"b", 2}, {"c", 3}}, Spec(3, {3, 1, 2}), "c:0+3[0,1,2] a:3+1[0] b:4+2[0,1]"},
      // A job without `cpu` goes to nodes with GPUs.
      {{{"a"}, {"b", 1}}, Spec(1, {}), "b:0+1[0]"},
      {{{"a"}, {"b", 1}}, Spec(1, {1}, true), "a:0+1"},
      // The reason says what is missing.
      {{{"a"}},
       Spec(1, {}, false, {0}),
       "(Needs 1 node with GPUs of those named in gpu_ids; fewer are connected. Ask for cpu to run "
       "without.)"},
      {{}, Spec(1, {}), "(Needs 1 node; none are connected and taking work.)"},
      {{{"a"}}, Spec(3, {1}), "(Needs 3 nodes; 1 is connected and taking work.)"},
      {{{"a", 2}},
       Spec(1, {3}),
       "(Needs a GPU for each process, up to 3 on one node, on 1 node; the largest connected node "
       "has 2. Ask for fewer processes, or for cpu to run without GPUs.)"},
      {{{"a", 2}, {"b"}},
       Spec(2, {}),
       "(Needs 2 nodes with GPUs; fewer are connected. Ask for cpu to run without.)"},
      {{{"a", 0, 0}}, Spec(1, {2}), "(Waits for node a to open a spare store socket.)"},
      {{{"a", 0, 0}}, Spec(1, {1}), "a:0+1"},
  };
  for (const Case& c : cases) {
    const ClusterState state = Cluster(c.nodes);
    EXPECT_EQ(Show(PlaceOn(state, c.spec)), c.expected);
  }
}

TEST(Placement, ConsumesASpareSocketOfMachineRankZero) {
  const ClusterState state = Cluster({{"1", 0, 2}, {"2", 0, 2}});
  Ledger ledger = LedgerOf(state);
  const PlacementDecision first = PlaceOn(state, Spec(2, {1}), ledger);
  EXPECT_EQ(first.assignment->master_addr, "10.0.0.1");
  EXPECT_EQ(first.assignment->master_port, 101);
  EXPECT_EQ(first.assignment->placements[0].store_socket(), 101u);
  EXPECT_EQ(first.assignment->placements[0].boot_id(), "1-1");
  EXPECT_EQ(first.assignment->placements[0].address(), "10.0.0.1");
  EXPECT_EQ(first.assignment->placements[1].store_socket(), 0u);
  ledger.Take(first.assignment->placements);
  const PlacementDecision second = PlaceOn(state, Spec(2, {1}), ledger);
  EXPECT_EQ(second.assignment->master_port, 103);
}

TEST(Placement, ANodeWithoutASpareSocketTakesAnotherMachineRank) {
  const ClusterState state = Cluster({{"a", 0, 0}, {"b", 0, 0}, {"c"}, {"d", 0, 0}});
  EXPECT_EQ(Show(PlaceOn(state, Spec(1, {2}))), "c:0+2");
  EXPECT_EQ(Show(PlaceOn(state, Spec(4, {1}))), "c:0+1 a:1+1 b:2+1 d:3+1");
  EXPECT_EQ(Show(PlaceOn(state, Spec(2, {3, 4}))), "c:0+3 a:3+4");
  // A world of one process has no store.
  EXPECT_EQ(Show(PlaceOn(state, Spec(1, {1}))), "a:0+1");
  const ClusterState gpus = Cluster({{"a", 2, 0}, {"b", 2}, {"c", 2}});
  EXPECT_EQ(Show(PlaceOn(gpus, Spec(2, {}))), "b:0+2[0,1] a:2+2[0,1]");
}

TEST(Placement, AMissingSpareSocketDelaysOnlyItsOwnJob) {
  const ClusterState state = Cluster({{"a", 0, 0}, {"b", 0, 0}});
  const PlacementDecision decision = PlaceOn(state, Spec(2, {1}));
  EXPECT_EQ(Show(decision), "(Waits for node a to open a spare store socket.)");
  EXPECT_EQ(decision.wait, PlacementDecision::Wait::kSocket);
}

TEST(Placement, AStoreIsReachableFromTheNodesOfItsJobOnly) {
  ClusterState state = Cluster({{"1"}, {"2", 0, 0}});
  EXPECT_EQ(PlaceOn(state, Spec(1, {2})).assignment->master_addr, "127.0.0.1");
  EXPECT_EQ(PlaceOn(state, Spec(2, {1})).assignment->master_addr, "10.0.0.1");
  auto& sockets = *state.nodes[common::NodeId("1")].observed.mutable_store_sockets();
  const v1::StoreSocket advertised = sockets[0];
  sockets[0] = sockets[1];
  EXPECT_EQ(Show(PlaceOn(state, Spec(2, {1}))), "(Waits for node 1 to open a spare store socket.)");
  EXPECT_EQ(Show(PlaceOn(state, Spec(1, {2}))), "1:0+2");
  sockets[0] = sockets[1] = advertised;
  EXPECT_EQ(Show(PlaceOn(state, Spec(1, {2}))), "(Waits for node 1 to open a spare store socket.)");
}

TEST(Placement, PlacementOrderComesBeforeNames) {
  ClusterState state = Cluster({{"a"}, {"b"}, {"c"}});
  state.nodes[common::NodeId("a")].observed.set_placement_order(2);
  state.nodes[common::NodeId("b")].observed.set_placement_order(3);
  state.nodes[common::NodeId("c")].observed.set_placement_order(1);
  EXPECT_EQ(Show(PlaceOn(state, Spec(3, {1, 2, 3}))), "c:0+1 a:1+2 b:3+3");
  Ledger ledger = LedgerOf(state);
  const PlacementDecision decision = PlaceOn(state, Spec(2, {1}), ledger);
  ledger.Take(decision.assignment->placements);
  EXPECT_EQ(Show(decision), "c:0+1 a:1+1");
  std::vector<std::string> loads;
  for (const NodeOffer* offer : ledger.offers()) {
    loads.push_back(absl::StrCat(offer->name, ":", offer->ranks));
  }
  EXPECT_EQ(absl::StrJoin(loads, " "), "c:1 a:1 b:0");
}

TEST(Placement, CpuJobsGoWhereTheFewestRanksAreForEachCpu) {
  const ClusterState state =
      Cluster({{"a", 0, 9, 2}, {"b", 0, 9, 4}, {"c", 0, 9, 8}, {"d", 0, 9, 0}});
  Ledger ledger = LedgerOf(state);
  const auto place = [&](const v1::JobSpec& spec) {
    const PlacementDecision decision = PlaceOn(state, spec, ledger);
    ledger.Take(decision.assignment->placements);
    return Show(decision);
  };
  EXPECT_EQ(place(Spec(1, {1})), "a:0+1");  // All nodes are idle, so the name decides.
  EXPECT_EQ(place(Spec(1, {2})), "b:0+2");
  EXPECT_EQ(place(Spec(1, {1})), "c:0+1");
  EXPECT_EQ(place(Spec(1, {1})), "d:0+1");  // A node that reports no CPUs counts as one with 1.
  EXPECT_EQ(place(Spec(1, {1})), "c:0+1");  // Ranks per CPU: 1/2, 2/4, 1/8, 1/1.
  // The two nodes with the fewest ranks per CPU, in the order of their names.
  EXPECT_EQ(place(Spec(2, {2})), "a:0+2 c:2+2");
  EXPECT_EQ(place(Spec(2, {1})), "b:0+1 c:1+1");
  EXPECT_EQ(place(Spec(3, {1})), "b:0+1 c:1+1 d:2+1");  // 3/2, 3/4, 5/8, 1/1.
}

TEST(Placement, GpuJobsFillOneNodeAfterTheOther) {
  const ClusterState state = Cluster({{"a", 4, 9}, {"b", 4, 9}});
  Ledger ledger = LedgerOf(state);
  for (const char* expected : {"a:0+2[0,1]", "a:0+2[2,3]", "b:0+2[0,1]"}) {
    const PlacementDecision decision = PlaceOn(state, Spec(1, {2}), ledger);
    EXPECT_EQ(Show(decision), expected);
    ledger.Take(decision.assignment->placements);
  }
}

TEST(Devices, AreDecidedOnce) {
  ClusterState state;
  v1::Job job;
  EXPECT_EQ(DecideDevices(Spec(1, {}, true), state), v1::ON_CPUS);
  EXPECT_EQ(DecideDevices(Spec(1, {}, false, {0}), state), v1::ON_GPUS);
  EXPECT_EQ(DecideDevices(Spec(1, {}), state), v1::DEVICES_UNSPECIFIED);
  EXPECT_EQ(DevicesOf(job, state), v1::ON_CPUS);
  state.gpus_seen = true;
  EXPECT_EQ(DecideDevices(Spec(1, {}), state), v1::ON_GPUS);
  EXPECT_EQ(DevicesOf(job, state), v1::ON_GPUS);
  job.set_devices(v1::ON_CPUS);
  EXPECT_EQ(DevicesOf(job, state), v1::ON_CPUS);
}

TEST(Placement, NodesThatCannotBeUsedAreNot) {
  ClusterState state = Cluster({{"a"}, {"b"}, {"c"}, {"d"}, {"e"}});
  state.nodes[common::NodeId("a")].session = 0;
  state.nodes[common::NodeId("b")].last_heard = kNow - absl::Seconds(5);
  state.nodes[common::NodeId("c")].observed.set_refuses_work("the disk is full");
  v1::ObservedGeneration* stray = state.nodes[common::NodeId("d")].observed.add_generations();
  stray->set_job_id("old");
  stray->set_generation(3);
  stray->set_state(v1::ObservedGeneration::STOPPING);
  EXPECT_EQ(Show(PlaceOn(state, Spec(1, {1}))), "e:0+1");
  const PlacementDecision two = PlaceOn(state, Spec(2, {1}));
  EXPECT_EQ(Show(two), "(Waits: node d is still ending generation 3 of job old.)");
  EXPECT_EQ(two.wait, PlacementDecision::Wait::kJobs);
  const PlacementDecision three = PlaceOn(state, Spec(3, {1}));
  EXPECT_EQ(Show(three),
            "(Needs 3 nodes; 2 are connected and taking work (node c: the disk is full).)");
  EXPECT_EQ(three.wait, PlacementDecision::Wait::kNodes);
  stray->set_state(v1::ObservedGeneration::ENDED);
  EXPECT_EQ(Show(PlaceOn(state, Spec(2, {1}))), "d:0+1 e:1+1");
}

// Returns the names of the nodes, by machine rank, after a generation on the nodes `last`.
std::string NodesAfter(const std::vector<std::string>& last, const std::vector<FakeNode>& nodes,
                       v1::JobSpec spec) {
  const ClusterState state = Cluster(nodes);
  const PlacementDecision decision = PlaceOn(state, spec, LedgerOf(state), last);
  if (!decision.assignment.has_value()) return decision.reason;
  std::vector<std::string> names;
  for (const v1::Placement& placement : decision.assignment->placements) {
    names.push_back(placement.node_name());
  }
  return absl::StrJoin(names, " ");
}

TEST(Placement, RanksMoveAsLittleAsPossible) {
  v1::JobSpec elastic = Spec(4, {1}, true);
  elastic.set_min_nodes(1);
  const auto after = [&elastic](const std::vector<std::string>& last,
                                const std::vector<FakeNode>& nodes) {
    return NodesAfter(last, nodes, elastic);
  };
  // A node is lost: only the last one moves, into the hole.
  EXPECT_EQ(after({"a", "b", "c", "d"}, {{"a"}, {"c"}, {"d"}}), "a d c");
  EXPECT_EQ(after({"a", "b", "c", "d"}, {{"b"}, {"c"}, {"d"}}), "d b c");
  // A node comes: it gets the rank that is left, wherever its name sorts.
  EXPECT_EQ(after({"b", "c"}, {{"a"}, {"b"}, {"c"}}), "b c a");
  EXPECT_EQ(after({"a", "d", "c"}, {{"a"}, {"b"}, {"c"}, {"d"}}), "a d c b");
  // One is lost and another one comes.
  EXPECT_EQ(after({"b", "c", "d", "e"}, {{"a"}, {"b"}, {"d"}, {"e"}}), "b a d e");
  // None is left.
  EXPECT_EQ(after({"x", "y"}, {{"b"}, {"a"}}), "a b");
}

TEST(Placement, RanksMoveIfOtherwiseNothingFits) {
  // Machine rank 0 needs a spare socket, and a larger part needs a node with as many GPUs.
  EXPECT_EQ(NodesAfter({"a", "b"}, {{"a", 0, 0}, {"b"}}, Spec(2, {1}, true)), "b a");
  EXPECT_EQ(NodesAfter({"x", "b"}, {{"a", 0, 0}, {"b"}}, Spec(2, {1}, true)), "b a");
  EXPECT_EQ(NodesAfter({"x", "c"}, {{"a", 0, 0}, {"b"}, {"c"}}, Spec(3, {1}, true)), "b c a");
  EXPECT_EQ(NodesAfter({"a", "b"}, {{"a", 1}, {"b", 4}}, Spec(2, {4, 1})), "b a");
}

}  // namespace
}  // namespace accel::coordinator
