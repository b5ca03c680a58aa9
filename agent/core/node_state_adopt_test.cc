// What a node begins with if an earlier agent has left shims on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/core/node_state_fixture.h"

namespace accel::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = v1::ObservedGeneration;

TEST(NodeStateAdopt, AnAdoptedGenerationIsOneOfItsOwn) {
  NodeState node(Identity());
  shim::ShimReport report = Report("a", 1, shim::GenerationReport::State::kRunning);
  report.generation->orphan_grace = absl::Seconds(2);
  node.AdoptShim(report);
  EXPECT_EQ(node.Observed(kMaxBytes).generations(0).state(), State::RUNNING);
  EXPECT_THAT(node.Reconcile(), IsEmpty());
  v1::NodeDesired desired = Desired(1);
  AddStart(&desired, "a", 1);
  node.SetDesired(desired);
  EXPECT_THAT(node.Reconcile(), IsEmpty());
  node.SetDesired(Desired(2));
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("stop a/1 2s"));
  node.Apply(Report("a", 1, shim::GenerationReport::State::kEnded));
  desired = Desired(3);
  AddForget(&desired, "a", 1);
  node.SetDesired(desired);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("end a"));
}

TEST(NodeStateAdopt, AnAdoptedShimWithoutAGenerationIsEnded) {
  NodeState node(Identity());
  node.AdoptShim({.job = common::JobId("a")});
  EXPECT_THAT(node.Reconcile(), IsEmpty());
  node.SetDesired(Desired(1));
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("end a"));
}

TEST(NodeStateAdopt, AResultIsAdoptedWithoutAShim) {
  NodeState node(Identity());
  shim::ShimReport report = Report("a", 1, shim::GenerationReport::State::kEnded);
  report.shim_ended = true;
  node.AdoptShim(report);
  v1::NodeDesired desired = Desired(1);
  AddStart(&desired, "a", 2);
  node.SetDesired(desired);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("start a/2 with shim"));
}

// A shim that ended its job because it lost its agent takes no further generation.
TEST(NodeStateAdopt, AShimThatExitsByItselfIsWaitedFor) {
  NodeState node = Running();
  shim::ShimReport report = Report("a", 1, shim::GenerationReport::State::kEnded);
  report.shim_is_leaving = true;
  node.Apply(report);
  v1::NodeDesired desired = Desired(2);
  AddStart(&desired, "a", 2);
  node.SetDesired(desired);
  EXPECT_THAT(node.Reconcile(), IsEmpty());
  report.shim_ended = true;
  node.Apply(report);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("start a/2 with shim"));
}

TEST(NodeStateAdopt, ANewSessionWaitsForItsFirstDesiredState) {
  NodeState node = Running();
  EXPECT_TRUE(node.has_desired());
  node.NewSession();
  EXPECT_FALSE(node.has_desired());
  EXPECT_THAT(node.Reconcile(), IsEmpty());
  node.SetDesired(Desired(1));
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("stop a/1 5s"));
}

}  // namespace
}  // namespace accel::agent
