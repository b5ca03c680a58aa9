// One coordinator and several agents: the real loops, with fake shims and simulated time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/simulation/simulated_cluster.h"

namespace accel::simulation {
namespace {

using ::testing::HasSubstr;

shim::ExitFact Code(int code) {
  shim::ExitFact fact;
  fact.code = code;
  return fact;
}

v1::JobSpec Spec(int nodes, std::vector<int> processes, int max_restarts = 0) {
  v1::JobSpec spec;
  spec.add_argv("train");
  spec.set_workdir("/");
  spec.set_nodes(nodes);
  for (int each : processes) spec.add_processes_per_node(each);
  spec.set_cpu(true);
  spec.set_max_restarts(max_restarts);
  spec.set_on_agent_loss(v1::KEEP);
  return spec;
}

std::map<std::string, std::string> EnvOf(const shim::WorkerStart& worker) {
  std::map<std::string, std::string> env;
  for (const std::string& pair : worker.env) {
    env[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
  }
  return env;
}

TEST(Cluster, RunsAJobOnThreeNodesToItsEnd) {
  SimulatedCluster cluster(3);
  const common::JobId job = cluster.Submit(Spec(3, {2}));
  EXPECT_EQ(cluster.Get(job).phase(), v1::STARTING);
  cluster.ExecDone(job);
  EXPECT_EQ(cluster.Get(job).phase(), v1::RUNNING);
  cluster.ExitAll(job, Code(0));
  EXPECT_EQ(cluster.Get(job).phase(), v1::SUCCEEDED);
  cluster.Advance(absl::Seconds(2));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(cluster.node(i).shims().has_shim(job));
}

// Invariant 3. The first start carries the whole environment, so it takes one round trip.
TEST(Cluster, RanksAreDenseOverUnequalNodes) {
  SimulatedCluster cluster(2);
  const common::JobId job = cluster.Submit(Spec(2, {3, 4}));
  std::set<std::string> ranks;
  std::set<std::string> masters;
  int stores = 0;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(cluster.node(i).shims().starts().size(), 1u);
    const shim::StartCommand& start = cluster.node(i).shims().starts()[0];
    stores += start.serves_store;
    for (const shim::WorkerStart& worker : start.workers) {
      std::map<std::string, std::string> env = EnvOf(worker);
      EXPECT_EQ(env["WORLD_SIZE"], "7");
      EXPECT_EQ(env["GROUP_RANK"], std::to_string(i));
      EXPECT_TRUE(ranks.insert(env["RANK"]).second);
      masters.insert(env["MASTER_ADDR"] + ":" + env["MASTER_PORT"]);
    }
  }
  EXPECT_EQ(ranks, (std::set<std::string>{"0", "1", "2", "3", "4", "5", "6"}));
  EXPECT_EQ(masters.size(), 1u);
  EXPECT_EQ(stores, 1);
}

TEST(Cluster, AFailureEndsAllNodesBeforeTheNextGeneration) {
  SimulatedCluster cluster(2);
  const common::JobId job = cluster.Submit(Spec(2, {1}, /*max_restarts=*/1));
  cluster.ExecDone(job);
  cluster.node(1).shims().Exit(job, 1, Code(3));
  cluster.Settle();
  // Invariant 4: rank 0 of the old generation still runs, so there is no new generation.
  EXPECT_EQ(cluster.Get(job).phase(), v1::STOPPING);
  ASSERT_EQ(cluster.node(0).shims().stops().size(), 1u);
  EXPECT_EQ(cluster.node(0).shims().starts().size(), 1u);
  shim::ExitFact term;
  term.kind = shim::ExitFact::Kind::kSignalled;
  term.signal = 15;
  cluster.node(0).shims().Exit(job, 0, term);
  cluster.Settle();
  EXPECT_EQ(cluster.Get(job).phase(), v1::STARTING);
  EXPECT_EQ(cluster.node(0).shims().starts().back().id.generation, 2);
  cluster.ExecDone(job);
  cluster.ExitAll(job, Code(0));
  const v1::Job done = cluster.Get(job);
  EXPECT_EQ(done.phase(), v1::SUCCEEDED);
  EXPECT_EQ(done.generations(0).cause().rank(), 1);
  EXPECT_EQ(done.generations(0).cause().exit().code(), 3);
}

TEST(Cluster, AKilledShimIsTheJobsFailure) {
  SimulatedCluster cluster(1);
  const common::JobId job = cluster.Submit(Spec(1, {2}));
  cluster.ExecDone(job);
  cluster.node(0).shims().KillShim(job);
  const v1::Job failed = cluster.Get(job);
  EXPECT_EQ(failed.phase(), v1::FAILED);
  EXPECT_EQ(failed.cause().exit().kind(), v1::ExitRecord::SHIM_DIED);
}

TEST(Cluster, ASilentNodeIsLostAndTheJobContinuesElsewhere) {
  SimulatedCluster cluster(3);
  const common::JobId job = cluster.Submit(Spec(2, {1}, /*max_restarts=*/1));
  cluster.ExecDone(job);
  cluster.node(1).KillAgent();
  cluster.Advance(absl::Seconds(7));
  cluster.ExitAll(job, Code(143));
  const v1::Job job_now = cluster.Get(job);
  EXPECT_EQ(job_now.phase(), v1::STARTING);
  EXPECT_EQ(job_now.generations(0).cause().exit().kind(), v1::ExitRecord::NODE_LOST);
  EXPECT_EQ(job_now.generations(0).cause().node_name(), "n2");
  std::set<std::string> names;
  for (const v1::Placement& placement : job_now.generations(1).placements())
    names.insert(placement.node_name());
  EXPECT_EQ(names, (std::set<std::string>{"n1", "n3"}));
}

// Invariant 6.
TEST(Cluster, ANewAgentGoesOnWithTheJobsOfTheOneBefore) {
  SimulatedCluster cluster(1);
  const common::JobId job = cluster.Submit(Spec(1, {2}));
  cluster.ExecDone(job);
  cluster.node(0).KillAgent();
  cluster.node(0).shims().Exit(job, 1, Code(0));  // No agent receives this.
  cluster.node(0).StartAgent();
  cluster.Settle();
  EXPECT_EQ(cluster.Get(job).phase(), v1::RUNNING);
  EXPECT_EQ(cluster.node(0).shims().starts().size(), 1u);
  EXPECT_TRUE(cluster.node(0).shims().contact());
  cluster.node(0).shims().Exit(job, 0, Code(0));
  EXPECT_EQ(cluster.Get(job).phase(), v1::SUCCEEDED);
  cluster.Advance(absl::Seconds(2));
  EXPECT_FALSE(cluster.node(0).shims().has_shim(job));
}

TEST(Cluster, AJobThatEndsWithItsAgentSaysSo) {
  SimulatedCluster cluster(1);
  v1::JobSpec spec = Spec(1, {1}, /*max_restarts=*/1);
  spec.set_on_agent_loss(v1::END);
  const common::JobId job = cluster.Submit(spec);
  cluster.ExecDone(job);
  cluster.node(0).KillAgent();
  cluster.node(0).StartAgent();
  cluster.Settle();
  const v1::Job now = cluster.Get(job);
  EXPECT_EQ(now.generations(0).cause().exit().kind(), v1::ExitRecord::NODE_LOST);
  EXPECT_EQ(now.phase(), v1::STARTING);
  EXPECT_EQ(cluster.node(0).shims().starts().back().id.generation, 2);
}

TEST(Cluster, ARebootIsKnownAtOnce) {
  SimulatedCluster cluster(1);
  const common::JobId job = cluster.Submit(Spec(1, {1}, /*max_restarts=*/1));
  cluster.ExecDone(job);
  cluster.node(0).Reboot();
  cluster.Settle();
  const v1::Job now = cluster.Get(job);
  EXPECT_THAT(now.generations(0).cause().exit().message(), HasSubstr("rebooted"));
  EXPECT_EQ(now.phase(), v1::STARTING);
}

TEST(Cluster, TwoJobsDoNotMeet) {
  SimulatedCluster cluster(1);
  const common::JobId one = cluster.Submit(Spec(1, {2}));
  const common::JobId two = cluster.Submit(Spec(1, {2}));
  const auto& starts = cluster.node(0).shims().starts();
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_NE(EnvOf(starts[0].workers[0])["MASTER_PORT"], EnvOf(starts[1].workers[0])["MASTER_PORT"]);
  cluster.ExecDone(one);
  cluster.ExecDone(two);
  cluster.ExitAll(one, Code(0));
  EXPECT_EQ(cluster.Get(one).phase(), v1::SUCCEEDED);
  EXPECT_EQ(cluster.Get(two).phase(), v1::RUNNING);
}

TEST(Cluster, AJobThatDoesNotFitWaitsAndSaysWhy) {
  SimulatedCluster cluster(3);
  const common::JobId job = cluster.Submit(Spec(4, {1}));
  const v1::Job waiting = cluster.Get(job);
  EXPECT_EQ(waiting.phase(), v1::PENDING);
  EXPECT_THAT(waiting.reason(), HasSubstr("4"));
}

TEST(Cluster, CancelReachesEveryNode) {
  SimulatedCluster cluster(3);
  const common::JobId job = cluster.Submit(Spec(3, {1}));
  cluster.ExecDone(job);
  cluster.coordinator().CancelJob(coordinator::Owner(), job, false, [](absl::Status) {});
  cluster.Settle();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(cluster.node(i).shims().stops().size(), 1u);
    EXPECT_EQ(cluster.node(i).shims().stops()[0].grace, absl::Seconds(30));
  }
  cluster.ExitAll(job, Code(0));
  EXPECT_EQ(cluster.Get(job).phase(), v1::CANCELLED);
}

}  // namespace
}  // namespace accel::simulation
