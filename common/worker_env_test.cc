#include "common/worker_env.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace accel::common {
namespace {

using Env = std::map<std::string, std::string>;

// Merges the lists as an agent does: the generation's, then the rank's. No name may occur twice
// in one list.
Env EnvOf(const NodeWorld& world, int local_rank) {
  Env env;
  for (const auto& [name, value] : GenerationEnv(world)) {
    EXPECT_TRUE(env.emplace(name, value).second) << name << " is there twice";
  }
  for (const auto& [name, value] : RankEnv(world, local_rank)) env[name] = value;
  return env;
}

NodeWorld SecondOfTwoNodes() {
  NodeWorld world;
  world.job_id = "a0x2k9fq";
  world.generation = 3;
  world.node_name = "b";
  world.machine_rank = 1;
  world.num_machines = 2;
  world.first_rank = 3;
  world.local_world_size = 4;
  world.world_size = 7;
  world.master_addr = "10.0.0.1";
  world.master_port = 4711;
  world.interface = "eth0";
  world.restart_count = 2;
  world.max_restarts = 5;
  world.cpu = true;
  world.terminal_columns = 80;
  return world;
}

TEST(WorkerEnv, SeveralProcessesOnSeveralNodes) {
  const Env expected = {
      {"RANK", "5"},
      {"WORLD_SIZE", "7"},
      {"LOCAL_RANK", "2"},
      {"LOCAL_WORLD_SIZE", "4"},
      {"GROUP_RANK", "1"},
      {"GROUP_WORLD_SIZE", "2"},
      {"ROLE_RANK", "5"},
      {"ROLE_WORLD_SIZE", "7"},
      {"ROLE_NAME", "default"},
      {"MASTER_ADDR", "10.0.0.1"},
      {"MASTER_PORT", "4711"},
      {"TORCHELASTIC_RESTART_COUNT", "2"},
      {"TORCHELASTIC_MAX_RESTARTS", "5"},
      {"TORCHELASTIC_RUN_ID", "a0x2k9fq"},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
      {"OMP_NUM_THREADS", "1"},
      {"GLOO_SOCKET_IFNAME", "eth0"},
      {"NCCL_SOCKET_IFNAME", "eth0"},
      {"CUDA_VISIBLE_DEVICES", ""},
      {"ACCELERATE_MIXED_PRECISION", "no"},
      {"ACCELERATE_USE_CPU", "true"},
      {"ACCELERATE_DYNAMO_BACKEND", "NO"},
      {"ACCELERATE_DYNAMO_MODE", "default"},
      {"ACCELERATE_DYNAMO_USE_FULLGRAPH", "False"},
      {"ACCELERATE_DYNAMO_USE_DYNAMIC", "False"},
      {"ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION", "False"},
      {"ACCEL_JOB_ID", "a0x2k9fq"},
      {"ACCEL_GENERATION", "3"},
      {"ACCEL_NODE", "b"},
      {"ACCEL_MACHINE_RANK", "1"},
      {"ACCEL_NUM_MACHINES", "2"},
  };
  EXPECT_EQ(EnvOf(SecondOfTwoNodes(), 2), expected);
}

// The variables that torchrun (torch 2.11) sets for a worker, except the two
// that worker_env.h names.
TEST(WorkerEnv, HasAllOfTorchrun) {
  const Env env = EnvOf(SecondOfTwoNodes(), 0);
  for (const char* name :
       {"GROUP_RANK", "GROUP_WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
        "MASTER_PORT", "OMP_NUM_THREADS", "RANK", "ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE",
        "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_RUN_ID",
        "TORCHELASTIC_USE_AGENT_STORE", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "WORLD_SIZE"}) {
    EXPECT_EQ(env.count(name), 1u) << name;
  }
}

TEST(WorkerEnv, HasTheRoleOfTheJob) {
  NodeWorld world = SecondOfTwoNodes();
  world.role = "trainer";
  EXPECT_EQ(EnvOf(world, 0).at("ROLE_NAME"), "trainer");
}

TEST(WorkerEnv, AWorldOfOneHasNoRank) {
  NodeWorld world;
  world.job_id = "j";
  world.node_name = "a";
  world.cpu = true;
  world.max_restarts = 3;
  const Env env = EnvOf(world, 0);
  for (const auto& [name, value] : env) EXPECT_FALSE(IsRankVariable(name)) << name;
  EXPECT_EQ(env.count("OMP_NUM_THREADS"), 0u);
  EXPECT_EQ(env.count("ACCEL_TERMINAL"), 0u);
  EXPECT_EQ(env.at("ACCEL_JOB_ID"), "j");
  EXPECT_EQ(env.at("ACCELERATE_USE_CPU"), "true");
}

TEST(WorkerEnv, SetsGpusPrecisionAndDebugMode) {
  NodeWorld world = SecondOfTwoNodes();
  world.cpu = false;
  world.gpu_ids = {1, 3, 4, 6};
  world.mixed_precision = "bf16";
  world.debug = true;
  const Env env = EnvOf(world, 0);
  EXPECT_EQ(env.at("CUDA_VISIBLE_DEVICES"), "1,3,4,6");
  EXPECT_EQ(env.at("ACCELERATE_USE_CPU"), "false");
  EXPECT_EQ(env.at("ACCELERATE_MIXED_PRECISION"), "bf16");
  EXPECT_EQ(env.at("ACCELERATE_DEBUG_MODE"), "true");
}

TEST(WorkerEnv, OnlyRankZeroHasTheTerminal) {
  NodeWorld world = SecondOfTwoNodes();
  EXPECT_EQ(EnvOf(world, 0).count("ACCEL_TERMINAL"), 0u);
  world.machine_rank = 0;
  world.first_rank = 0;
  EXPECT_EQ(EnvOf(world, 0).at("ACCEL_TERMINAL"), "80");
  EXPECT_EQ(EnvOf(world, 1).count("ACCEL_TERMINAL"), 0u);
}

TEST(WorkerEnv, OneNodeKeepsItsInterfaceToItself) {
  NodeWorld world = SecondOfTwoNodes();
  world.num_machines = 1;
  EXPECT_EQ(EnvOf(world, 0).count("GLOO_SOCKET_IFNAME"), 0u);
}

TEST(WorkerEnv, TheUserWinsOverDefaultsButNotOverIdentity) {
  NodeWorld world = SecondOfTwoNodes();
  world.user_env = {{"OMP_NUM_THREADS", "8"},
                    {"GLOO_SOCKET_IFNAME", "ib0"},
                    {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},
                    {"ACCELERATE_USE_CPU", "yes"},
                    {"MINE", "first"},
                    {"MINE", "second"},
                    {"RANK", "99"},
                    {"MASTER_PORT", "1"},
                    {"ACCEL_SHARED_MEMORY", "0"},
                    {"ACCEL_JOB_ID", "other"}};
  const Env env = EnvOf(world, 2);
  EXPECT_EQ(env.at("OMP_NUM_THREADS"), "8");
  EXPECT_EQ(env.at("GLOO_SOCKET_IFNAME"), "ib0");
  EXPECT_EQ(env.at("NCCL_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(env.at("TORCH_NCCL_ASYNC_ERROR_HANDLING"), "0");
  EXPECT_EQ(env.at("ACCELERATE_USE_CPU"), "yes");
  EXPECT_EQ(env.at("MINE"), "second");
  EXPECT_EQ(env.at("ACCEL_SHARED_MEMORY"), "0");
  EXPECT_EQ(env.at("RANK"), "5");
  EXPECT_EQ(env.at("MASTER_PORT"), "4711");
  EXPECT_EQ(env.at("ACCEL_JOB_ID"), "a0x2k9fq");
}

TEST(WorkerEnv, GpusAreIdentityOnlyWhereTheyAreHeld) {
  NodeWorld world = SecondOfTwoNodes();
  world.user_env = {{"CUDA_VISIBLE_DEVICES", "7"}};
  EXPECT_EQ(EnvOf(world, 0).at("CUDA_VISIBLE_DEVICES"), "7");
  world.cpu = false;
  world.gpu_ids = {0, 1, 2, 3};
  EXPECT_EQ(EnvOf(world, 0).at("CUDA_VISIBLE_DEVICES"), "0,1,2,3");
}

// Guards against quadratic time, which would keep the agent silent for minutes.
TEST(WorkerEnv, ManyVariablesAreMergedInOnePass) {
  NodeWorld world = SecondOfTwoNodes();
  for (int i = 0; i < 300'000; ++i) world.user_env.emplace_back("V" + std::to_string(i), "x");
  EXPECT_EQ(EnvOf(world, 0).count("V299999"), 1u);
}

TEST(SetByAccel, SaysWhatSetsIt) {
  EXPECT_EQ(SetByAccel("TORCHELASTIC_MAX_RESTARTS", {}), "--max_restarts sets it");
  EXPECT_EQ(SetByAccel("ACCEL_SHARED_MEMORY", {}), "");
  EXPECT_EQ(SetByAccel("OMP_NUM_THREADS", {}), "");
}

// Every variable of a worker is either a default that the submitter can replace, or one
// that SetByAccel() names.
TEST(SetByAccel, NamesEveryVariableThatTheUserCannotReplace) {
  NodeWorld world = SecondOfTwoNodes();
  world.cpu = false;
  world.gpu_ids = {1};
  world.machine_rank = world.first_rank = 0;
  for (const auto& [name, value] : EnvOf(world, 0)) {
    NodeWorld other = world;
    other.user_env = {{name, "mine"}};
    EXPECT_EQ(SetByAccel(name, {}).empty(), EnvOf(other, 0).at(name) == "mine") << name;
  }
}

TEST(WorkerEnv, ASingleProcessMayDefineItsOwnWorld) {
  NodeWorld world;
  world.user_env = {{"RANK", "0"}, {"MASTER_ADDR", "localhost"}};
  EXPECT_EQ(EnvOf(world, 0).at("RANK"), "0");
}

}  // namespace
}  // namespace accel::common
