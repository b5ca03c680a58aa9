#include "agent/core/node_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/node_state_fixture.h"

namespace accel::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = v1::ObservedGeneration;

TEST(NodeState, StartsOnceHoweverOftenTheStateIsRepeated) {
  NodeState node(Identity());
  v1::NodeDesired desired = Desired(1);
  AddStart(&desired, "a", 1);
  node.SetDesired(desired);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("start a/1 with shim"));
  node.SetDesired(desired);
  EXPECT_THAT(node.Reconcile(), IsEmpty());
  EXPECT_EQ(node.Observed(kMaxBytes).generations(0).state(), State::STARTING);
}

TEST(NodeState, TakesTheStoreSocketOfThePlan) {
  NodeState node(Identity());
  v1::StoreSocket socket;
  socket.set_id(7);
  node.SetStoreSockets({socket});
  v1::NodeDesired desired = Desired(1);
  AddStart(&desired, "a", 1)->set_store_socket(7);
  AddStart(&desired, "b", 1)->set_store_socket(7);
  node.SetDesired(desired);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("start a/1 with shim"));
  EXPECT_EQ(node.Observed(kMaxBytes).store_sockets_size(), 0);
  const v1::NodeObserved observed = node.Observed(kMaxBytes);
  EXPECT_EQ(observed.generations(1).state(), State::ENDED);
  EXPECT_TRUE(observed.generations(1).store_socket_gone());
}

TEST(NodeState, WithoutAStoreSocketItTakesNoWork) {
  NodeState node(Identity());
  node.SetStoreSockets({}, "no free port in 1-2");
  EXPECT_EQ(node.Observed(kMaxBytes).refuses_work(), "no free port in 1-2");
  const uint64_t before = node.revision();
  node.SetStoreSockets({v1::StoreSocket()});
  EXPECT_GT(node.revision(), before);
  EXPECT_EQ(node.Observed(kMaxBytes).refuses_work(), "");
}

TEST(NodeState, StopsWithTheGraceAskedForAndShortensItOnly) {
  NodeState node = Running();
  v1::NodeDesired desired = Desired(2);
  AddStop(&desired, "a", 1, 30000);
  node.SetDesired(desired);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("stop a/1 30s"));
  EXPECT_EQ(node.Observed(kMaxBytes).generations(0).state(), State::STOPPING);
  node.SetDesired(desired);
  EXPECT_THAT(node.Reconcile(), IsEmpty());
  v1::NodeDesired sooner = Desired(3);
  AddStop(&sooner, "a", 1, 0);
  node.SetDesired(sooner);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("stop a/1 0"));
}

TEST(NodeState, KnowsTheLongestGraceOfItsStops) {
  NodeState node(Identity());
  EXPECT_EQ(node.LongestGrace(Leaver::kNode), absl::ZeroDuration());
  v1::NodeDesired desired = Desired(1);
  AddStart(&desired, "a", 1);
  AddStop(&desired, "b", 1, 30000);
  AddStop(&desired, "c", 1, 5000);
  node.SetDesired(desired);
  EXPECT_EQ(node.LongestGrace(Leaver::kNode), absl::Seconds(30));
}

TEST(NodeState, AnAgentThatStopsWaitsOnlyForTheGracesOfItsDependents) {
  NodeState node(Identity());
  v1::NodeDesired desired = Desired(1);
  AddStart(&desired, "stays", 1);
  desired.mutable_generations(0)->set_on_agent_loss(v1::KEEP);
  AddStart(&desired, "ends", 1);
  desired.mutable_generations(1)->set_on_agent_loss(v1::END);
  node.SetDesired(desired);
  node.Reconcile();
  desired = Desired(2);
  AddStop(&desired, "stays", 1, 600'000);
  AddStop(&desired, "ends", 1, 30'000);
  node.SetDesired(desired);
  EXPECT_EQ(node.LongestGrace(Leaver::kNode), absl::Minutes(10));
  EXPECT_EQ(node.LongestGrace(Leaver::kAgent), absl::Seconds(30));
}

TEST(NodeState, AStopOvertakingItsStartLeavesAnEndedGeneration) {
  NodeState node(Identity());
  v1::NodeDesired desired = Desired(1);
  AddStop(&desired, "a", 1, 1000);
  node.SetDesired(desired);
  EXPECT_THAT(node.Reconcile(), IsEmpty());
  EXPECT_EQ(node.Observed(kMaxBytes).generations(0).state(), State::ENDED);
  v1::NodeDesired late = Desired(2);
  AddStart(&late, "a", 1);
  node.SetDesired(late);
  EXPECT_THAT(node.Reconcile(), IsEmpty());
}

TEST(NodeState, StopsUnlistedGenerations) {
  NodeState node = Running();
  node.SetDesired(Desired(2));
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("stop a/1 5s"));
}

TEST(NodeState, DoesNothingBeforeTheFirstDesiredState) {
  NodeState node(Identity());
  EXPECT_THAT(node.Reconcile(), IsEmpty());
}

TEST(NodeState, KeepsAnEndedGenerationUntilItIsForgotten) {
  NodeState node = Running();
  node.Apply(Report("a", 1, shim::GenerationReport::State::kEnded));
  node.SetDesired(Desired(2));
  EXPECT_THAT(node.Reconcile(), IsEmpty());
  EXPECT_EQ(node.Observed(kMaxBytes).generations_size(), 1);
  v1::NodeDesired desired = Desired(3);
  AddForget(&desired, "a", 1);
  node.SetDesired(desired);
  EXPECT_EQ(node.Observed(kMaxBytes).generations_size(), 0);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("end a"));
}

TEST(NodeState, NeverForgetsWhatStillRuns) {
  NodeState node = Running();
  v1::NodeDesired desired = Desired(2);
  AddForget(&desired, "a", 1);
  node.SetDesired(desired);
  EXPECT_EQ(node.Observed(kMaxBytes).generations_size(), 1);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("stop a/1 5s"));
}

TEST(NodeState, KeepsTheShimForTheNextGeneration) {
  NodeState node = Running();
  node.Apply(Report("a", 1, shim::GenerationReport::State::kEnded));
  v1::NodeDesired desired = Desired(2);
  AddForget(&desired, "a", 1);
  AddStart(&desired, "a", 2);
  node.SetDesired(desired);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("start a/2"));
}

TEST(NodeState, ANewGenerationWaitsForTheOldOne) {
  NodeState node = Running();
  v1::NodeDesired desired = Desired(2);
  AddStart(&desired, "a", 2);
  node.SetDesired(desired);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("stop a/1 5s"));
  node.Apply(Report("a", 1, shim::GenerationReport::State::kEnded));
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("start a/2"));
}

TEST(NodeState, AKilledShimIsReplacedForTheNextGeneration) {
  NodeState node = Running();
  shim::ShimReport died = Report("a", 1, shim::GenerationReport::State::kEnded);
  died.shim_ended = true;
  node.Apply(died);
  v1::NodeDesired desired = Desired(2);
  AddStart(&desired, "a", 2);
  node.SetDesired(desired);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("start a/2 with shim"));
}

// Invariant 5: a command from the past has no effect.
TEST(NodeState, RefusesStaleCommandsAndCountsThem) {
  NodeState node = Running();
  v1::NodeDesired other = Desired(9);
  other.set_incarnation("i0");
  node.SetDesired(other);
  node.SetDesired(Desired(0));
  EXPECT_EQ(node.refused(), 2);
  EXPECT_THAT(node.Reconcile(), IsEmpty());

  v1::NodeDesired next = Desired(2);
  AddStart(&next, "a", 2);
  node.SetDesired(next);
  node.Reconcile();
  node.Apply(Report("a", 1, shim::GenerationReport::State::kEnded));
  node.Reconcile();
  v1::NodeDesired forgets = Desired(3);
  AddForget(&forgets, "a", 1);
  AddStart(&forgets, "a", 1);
  node.SetDesired(forgets);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("stop a/2 5s"));
  EXPECT_EQ(node.refused(), 3);
}

TEST(NodeState, ANewSessionMayCountFromOneAgain) {
  NodeState node = Running();
  v1::NodeDesired desired = Desired(5);
  AddStart(&desired, "a", 1);
  node.SetDesired(desired);
  node.NewSession();
  node.SetDesired(Desired(1));
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("stop a/1 5s"));
}

TEST(NodeState, ExitRecordsAreWrittenOnce) {
  NodeState node = Running();
  shim::ShimReport report = Report("a", 1, shim::GenerationReport::State::kRunning);
  report.generation->workers = {{.rank = 3, .pid = 10, .exit = shim::ExitFact{.code = 7}}};
  node.Apply(report);
  report.generation->state = shim::GenerationReport::State::kEnded;
  report.generation->workers[0].exit->code = 9;
  node.Apply(report);
  EXPECT_EQ(node.Observed(kMaxBytes).generations(0).workers(0).exit().code(), 7);
}

TEST(NodeState, AFailedStartEndsTheGenerationWithItsReason) {
  NodeState node(Identity());
  v1::NodeDesired desired = Desired(1);
  AddStart(&desired, "a", 1);
  node.SetDesired(desired);
  node.Reconcile();
  node.StartFailed({common::JobId("a"), 1}, absl::InternalError("no shim"), /*has_shim=*/false);
  const v1::NodeObserved observed = node.Observed(kMaxBytes);
  EXPECT_EQ(observed.generations(0).state(), State::ENDED);
  EXPECT_EQ(observed.generations(0).failure().kind(), v1::ExitRecord::NOT_STARTED);
  EXPECT_EQ(observed.generations(0).failure().code(), 1);
  EXPECT_EQ(observed.generations(0).failure().message(), "no shim");
  v1::NodeDesired next = Desired(2);
  AddStart(&next, "a", 2);
  node.SetDesired(next);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("start a/2 with shim"));
}

TEST(NodeState, AShimThatRefusedAStartServesTheNextAndIsEnded) {
  NodeState node = Running();
  node.StartFailed({common::JobId("a"), 1}, absl::InvalidArgumentError("too large"),
                   /*has_shim=*/true);
  EXPECT_EQ(node.Observed(kMaxBytes).generations(0).failure().code(), 126);
  v1::NodeDesired next = Desired(2);
  AddStart(&next, "a", 2);
  node.SetDesired(next);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("start a/2"));
  node.StartFailed({common::JobId("a"), 2}, absl::InvalidArgumentError("too large"),
                   /*has_shim=*/true);
  v1::NodeDesired forget = Desired(3);
  AddForget(&forget, "a", 1);
  AddForget(&forget, "a", 2);
  node.SetDesired(forget);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("end a"));
}

// Returns a node whose shim of job "a" was asked to exit, and which was then given generation 2.
NodeState Leaving() {
  NodeState node = Running();
  node.Apply(Report("a", 1, shim::GenerationReport::State::kEnded));
  v1::NodeDesired forget = Desired(2);
  AddForget(&forget, "a", 1);
  node.SetDesired(forget);
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("end a"));
  v1::NodeDesired next = Desired(3);
  AddStart(&next, "a", 2);
  node.SetDesired(next);
  return node;
}

TEST(NodeState, AStartWaitsForAShimThatLeaves) {
  NodeState node = Leaving();
  EXPECT_THAT(node.Reconcile(), IsEmpty());
  EXPECT_EQ(node.Observed(kMaxBytes).generations(0).state(), State::STARTING);
  node.Apply({.job = common::JobId("a"), .generation = std::nullopt, .shim_ended = true});
  EXPECT_THAT(Names(node.Reconcile()), ElementsAre("start a/2 with shim"));
  EXPECT_THAT(node.Reconcile(), IsEmpty());
}

TEST(NodeState, AStopOfAStartThatWaitsEndsItAtOnce) {
  NodeState node = Leaving();
  node.Reconcile();
  v1::NodeDesired stop = Desired(4);
  AddStop(&stop, "a", 2, 30000);
  node.SetDesired(stop);
  EXPECT_THAT(node.Reconcile(), IsEmpty());
  EXPECT_EQ(node.Observed(kMaxBytes).generations(0).state(), State::ENDED);
  node.Apply({.job = common::JobId("a"), .generation = std::nullopt, .shim_ended = true});
  EXPECT_THAT(node.Reconcile(), IsEmpty());
}

// Invariant 8: the results that wait for the coordinator are bounded.
TEST(NodeState, RefusesWorkWhenTooManyResultsWait) {
  NodeState node(Identity());
  v1::NodeDesired desired = Desired(1);
  for (int i = 0; i < NodeState::kMaxUnforgotten; ++i)
    AddStop(&desired, "j" + std::to_string(i), 1, 0);
  node.SetDesired(desired);
  node.Reconcile();
  EXPECT_THAT(node.Observed(kMaxBytes).refuses_work(), testing::HasSubstr("256 results"));
}

// Returns the report of a shim whose `ranks` workers have all failed in generation 1, with `lines`
// last lines of output each. A real shim reports at most 20 lines per worker.
shim::ShimReport Failed(const std::string& job, int ranks, int lines) {
  shim::ShimReport report = Report(job, 1, shim::GenerationReport::State::kEnded);
  for (int rank = 0; rank < ranks; ++rank) {
    shim::WorkerReport worker = {
        .rank = rank, .pid = 1000000 + rank, .start_time_ticks = 1ull << 40};
    worker.exit = shim::ExitFact{.code = 3};
    worker.last_lines.assign(lines, std::string(204, 'x'));
    report.generation->workers.push_back(worker);
  }
  return report;
}

NodeState WithFailed(int generations, int ranks, int lines) {
  NodeState node(Identity());
  v1::NodeDesired desired = Desired(1);
  for (int i = 0; i < generations; ++i) AddStart(&desired, "j" + std::to_string(1000 + i), 1);
  node.SetDesired(desired);
  node.Reconcile();
  for (int i = 0; i < generations; ++i)
    node.Apply(Failed("j" + std::to_string(1000 + i), ranks, lines));
  return node;
}

// Invariant 8: while the coordinator is down, nothing is forgotten.
TEST(NodeState, WhatWaitsForTheCoordinatorIsBoundedAndKeepsEveryExitCode) {
  const NodeState node = WithFailed(64, 64, 20);
  for (const int64_t most : {16 << 20, 7 << 20, 1 << 20}) {
    const v1::NodeObserved observed = node.Observed(most);
    EXPECT_LE(static_cast<int64_t>(observed.ByteSizeLong()), std::min<int64_t>(most, 7 << 20));
    ASSERT_EQ(observed.generations_size(), 64);
    for (const v1::ObservedGeneration& each : observed.generations()) {
      ASSERT_EQ(each.state(), State::ENDED);
      for (const v1::ObservedWorker& worker : each.workers()) ASSERT_EQ(worker.exit().code(), 3);
    }
  }
  EXPECT_EQ(node.Observed(7 << 20).generations(63).workers(63).last_lines_size(), 20)
      << "the newest says most";
  EXPECT_EQ(node.Observed(7 << 20).generations(0).workers(0).last_lines_size(), 20)
      << "where the failure began is said by the oldest, too";
}

TEST(NodeState, RefusesWorkWhenTooManyProcessesOfResultsWait) {
  EXPECT_EQ(WithFailed(31, 1024, 1).Observed(kMaxBytes).refuses_work(), "");
  const v1::NodeObserved observed = WithFailed(32, 1024, 1).Observed(kMaxBytes);
  EXPECT_THAT(observed.refuses_work(), testing::HasSubstr("32768 processes"));
  EXPECT_LE(observed.ByteSizeLong(), 12u << 20);
}

}  // namespace
}  // namespace accel::agent
