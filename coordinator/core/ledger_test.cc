#include "coordinator/core/ledger.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {
namespace {

class LedgerTest : public ::testing::Test {
 protected:
  NodeEntry& Node(const std::string& name) {
    NodeEntry& node = state_.nodes[common::NodeId(name)];
    if (node.session != 0) return node;
    node.session = 1;
    node.last_heard = now_;
    node.observed.set_name(name);
    node.observed.mutable_inventory()->set_cpus(4);
    node.observed.mutable_inventory()->add_gpus()->set_index(0);
    v1::StoreSocket* socket = node.observed.add_store_sockets();
    socket->set_id(7);
    socket->set_address("127.0.0.1");
    return node;
  }

  // Takes one GPU and the socket of a node.
  static Placements Part(const std::string& name) {
    Placements parts;
    v1::Placement& part = *parts.Add();
    part.set_node_id(name);
    part.set_processes(2);
    part.add_gpu_ids(0);
    part.set_store_socket(7);
    return parts;
  }

  bool Touched(const std::string& name) {
    ledger_.Touch(common::NodeId(name));
    return ledger_.Update(state_, now_);
  }

  // Returns, for example, "a b:2": the nodes, with their ranks unless they have none.
  std::string Offers() const { return Show(ledger_.offers()); }
  template <typename Nodes>
  static std::string Show(const Nodes& offers) {
    return absl::StrJoin(offers, " ", [](std::string* out, const NodeOffer* offer) {
      absl::StrAppend(out, offer->name);
      if (offer->ranks > 0) absl::StrAppend(out, ":", offer->ranks);
    });
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  ClusterState state_;
  Ledger ledger_;
};

TEST_F(LedgerTest, LooksAtTouchedNodesOnly) {
  Node("a");
  Node("b");
  EXPECT_TRUE(ledger_.Update(state_, now_));
  EXPECT_EQ(Offers(), "a b");
  EXPECT_GT(ledger_.changes_at(), now_);

  Node("c");
  Node("a").drain = v1::FINISH_JOBS;
  EXPECT_FALSE(ledger_.Update(state_, now_));
  EXPECT_TRUE(Touched("c"));
  EXPECT_EQ(Offers(), "a b c");
  EXPECT_TRUE(Touched("a"));
  EXPECT_EQ(Offers(), "b c");
  EXPECT_EQ(ledger_.refusals().begin()->second, "node a: drained by an operator");
  EXPECT_FALSE(Touched("a"));  // Nothing has changed since.
}

TEST_F(LedgerTest, PreparesNodesThatItDoesNotKnow) {
  Node("a");
  ledger_.Prepare(state_, now_);
  EXPECT_EQ(Offers(), "a");
  Node("b");
  ledger_.Touch(common::NodeId("b"));
  ledger_.Prepare(state_, now_);
  EXPECT_EQ(Offers(), "a b");
  EXPECT_GT(ledger_.changes_at(), now_);
  Node("c");
  Node("a").drain = v1::FINISH_JOBS;
  for (const char* name : {"a", "c", "c"}) ledger_.Touch(common::NodeId(name));
  ledger_.Prepare(state_, now_);
  EXPECT_EQ(Offers(), "a b c");
  EXPECT_EQ(ledger_.changes_at(), absl::InfinitePast());  // It has yet to look at node a.
  EXPECT_TRUE(ledger_.Update(state_, now_));
  EXPECT_EQ(Offers(), "b c");
  EXPECT_GT(ledger_.changes_at(), now_);
}

TEST_F(LedgerTest, ForgetsNodesThatAreGone) {
  Node("a");
  Node("b").drain = v1::FINISH_JOBS;
  ledger_.Update(state_, now_);
  state_.nodes.clear();
  EXPECT_TRUE(Touched("a"));
  EXPECT_TRUE(Touched("b"));
  EXPECT_EQ(Offers(), "");
  EXPECT_TRUE(ledger_.refusals().empty());
  EXPECT_EQ(ledger_.changes_at(), absl::InfiniteFuture());
}

TEST_F(LedgerTest, WhatAPlanTakesIsGoneUntilTheStateSaysOtherwise) {
  Node("a");
  ledger_.Update(state_, now_);
  EXPECT_EQ(Show(ledger_.gpu_room()), "a");
  ledger_.Take(Part("a"));
  EXPECT_EQ(Offers(), "a:2");
  EXPECT_EQ(Show(ledger_.gpu_room()), "");
  EXPECT_EQ(Show(ledger_.cpu_room()), "a:2");
  EXPECT_EQ(FindSpareSocket(**ledger_.offers().begin(), /*peers=*/false), nullptr);
  // The plan was not performed.
  EXPECT_EQ(ledger_.changes_at(), absl::InfinitePast());
  EXPECT_TRUE(ledger_.Update(state_, now_));
  EXPECT_EQ(Show(ledger_.gpu_room()), "a");
  EXPECT_NE(FindSpareSocket(**ledger_.offers().begin(), /*peers=*/false), nullptr);
}

TEST_F(LedgerTest, ABusyNodeHasNoRoom) {
  state_.limits.generations_per_node = 1;
  Node("a");
  Node("b");
  ledger_.Update(state_, now_);
  ledger_.Take(Part("b"));
  EXPECT_EQ(Offers(), "a b:2");
  EXPECT_EQ(Show(ledger_.cpu_room()), "a");
  EXPECT_EQ((*ledger_.offers().rbegin())->busy, "node b runs 1 jobs, its maximum");
}

TEST_F(LedgerTest, TheLeastLoadedNodeIsFirstForCpuJobs) {
  for (const char* name : {"a", "b", "c"}) Node(name);
  Node("c").observed.mutable_inventory()->set_cpus(64);
  ledger_.Update(state_, now_);
  EXPECT_EQ(Show(ledger_.cpu_room()), "a b c");
  for (const char* name : {"a", "c", "c"}) ledger_.Take(Part(name));
  EXPECT_EQ(Show(ledger_.cpu_room()), "b c:4 a:2");
  EXPECT_EQ(Offers(), "a:2 b c:4");
}

TEST_F(LedgerTest, SilenceIsNoEvent) {
  Node("a");
  NodeEntry& b = Node("b");
  ledger_.Update(state_, now_);
  const absl::Time silent = SilentFrom(state_, b);
  EXPECT_EQ(ledger_.changes_at(), silent);
  b.last_heard += absl::Seconds(1);  // A report that says nothing new touches nothing.
  now_ = silent;
  EXPECT_TRUE(ledger_.Update(state_, now_));
  EXPECT_EQ(Offers(), "b");
  EXPECT_EQ(ledger_.changes_at(), silent + absl::Seconds(1));
}

// Nodes with ever new ids may come and go while nothing waits.
TEST_F(LedgerTest, ManyTouchedNodesAreAllNodes) {
  Node("a");
  ledger_.Update(state_, now_);
  Node("b");
  for (int i = 0; i < 20'001; ++i) ledger_.Touch(common::NodeId(absl::StrCat("gone-", i)));
  EXPECT_TRUE(ledger_.Update(state_, now_));
  EXPECT_EQ(Offers(), "a b");
}

TEST_F(LedgerTest, AnExclusionEndsWithoutAnEvent) {
  state_.limits.node_timeout = absl::Hours(1);
  NodeHealth& health = Node("a").health;
  NoteBlame(common::JobId("j"), 3, now_, &health);
  ledger_.Update(state_, now_);
  EXPECT_EQ(Offers(), "");
  EXPECT_EQ(ledger_.changes_at(), health.excluded_until);
  now_ = health.excluded_until;
  EXPECT_TRUE(ledger_.Update(state_, now_));
  EXPECT_EQ(Offers(), "a");
  EXPECT_TRUE(ledger_.refusals().empty());
}

TEST_F(LedgerTest, EqualsALedgerThatHasLookedAtEveryNode) {
  Node("a");
  Node("b");
  ledger_.Update(state_, now_);
  Node("b").observed.clear_store_sockets();
  Ledger other;
  other.Update(state_, now_);
  EXPECT_FALSE(ledger_ == other);
  Touched("b");
  EXPECT_TRUE(ledger_ == other);
}

}  // namespace
}  // namespace accel::coordinator
