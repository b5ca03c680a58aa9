#include "common/worker_env.h"

#include <algorithm>

namespace accel {
namespace {

constexpr std::string_view kRankVariables[] = {
    kEnvRank,           kEnvWorldSize,          kEnvLocalRank,
    kEnvLocalWorldSize, kEnvGroupRank,          kEnvGroupWorldSize,
    kEnvRoleRank,       kEnvRoleWorldSize,      kEnvRoleName,
    kEnvMasterAddr,     kEnvMasterPort,         kEnvElasticRestartCount,
    kEnvElasticRunId,   kEnvElasticMaxRestarts, kEnvElasticUseAgentStore};

// Names that the submitter cannot choose.
bool IsIdentity(const NodeWorld& world, std::string_view name) {
  if (name.substr(0, 6) == "ACCEL_") return true;
  if (name == kEnvCudaVisibleDevices) return !world.cpu;
  return world.world_size > 1 && IsRankVariable(name);
}

bool UserHas(const NodeWorld& world, std::string_view name) {
  return std::any_of(world.user_env.begin(), world.user_env.end(),
                     [name](const auto& variable) { return variable.first == name; });
}

EnvList Defaults(const NodeWorld& world) {
  EnvList env = {
      {kEnvMixedPrecision, world.mixed_precision.empty() ? "no" : world.mixed_precision},
      {kEnvDynamoBackend, "NO"},
      {kEnvDynamoMode, "default"},
      {kEnvDynamoFullgraph, "False"},
      {kEnvDynamoDynamic, "False"},
      {kEnvDynamoRegional, "False"},
      // Never left out: Accelerate takes a CPU rank without it for a world of its own.
      {kEnvUseCpu, world.cpu ? "true" : "false"},
  };
  if (world.debug) env.emplace_back(kEnvDebugMode, "true");
  // A job that holds no GPU shall not find one.
  if (world.cpu) env.emplace_back(kEnvCudaVisibleDevices, "");
  if (world.local_world_size > 1) env.emplace_back(kEnvOmpNumThreads, "1");
  if (world.world_size > 1) env.emplace_back(kEnvNcclAsyncErrorHandling, "1");
  if (world.num_machines > 1 && !world.interface.empty()) {
    env.emplace_back(kEnvGlooInterface, world.interface);
    env.emplace_back(kEnvNcclInterface, world.interface);
  }
  return env;
}

void AppendWorld(const NodeWorld& world, EnvList* env) {
  env->emplace_back(kEnvWorldSize, std::to_string(world.world_size));
  env->emplace_back(kEnvLocalWorldSize, std::to_string(world.local_world_size));
  env->emplace_back(kEnvGroupRank, std::to_string(world.machine_rank));
  env->emplace_back(kEnvGroupWorldSize, std::to_string(world.num_machines));
  env->emplace_back(kEnvRoleWorldSize, std::to_string(world.world_size));
  env->emplace_back(kEnvRoleName, "default");
  env->emplace_back(kEnvMasterAddr, world.master_addr);
  env->emplace_back(kEnvMasterPort, std::to_string(world.master_port));
  env->emplace_back(kEnvElasticRestartCount, std::to_string(world.restart_count));
  env->emplace_back(kEnvElasticMaxRestarts, std::to_string(world.max_restarts));
  env->emplace_back(kEnvElasticRunId, world.job_id);
  env->emplace_back(kEnvElasticUseAgentStore, "True");
}

std::string JoinIds(const std::vector<int>& ids) {
  std::string joined;
  for (int id : ids) joined += (joined.empty() ? "" : ",") + std::to_string(id);
  return joined;
}

}  // namespace

EnvList GenerationEnv(const NodeWorld& world) {
  EnvList env;
  for (auto& variable : Defaults(world)) {
    if (!UserHas(world, variable.first)) env.push_back(std::move(variable));
  }
  for (const auto& [name, value] : world.user_env) {
    if (IsIdentity(world, name)) continue;
    const auto known = std::find_if(env.begin(), env.end(),
                                    [&name = name](const auto& set) { return set.first == name; });
    if (known != env.end()) {
      known->second = value;
    } else {
      env.emplace_back(name, value);
    }
  }
  if (!world.cpu) env.emplace_back(kEnvCudaVisibleDevices, JoinIds(world.gpu_ids));
  if (world.world_size > 1) AppendWorld(world, &env);
  env.emplace_back(kEnvAccelJobId, world.job_id);
  env.emplace_back(kEnvAccelGeneration, std::to_string(world.generation));
  env.emplace_back(kEnvAccelNode, world.node_name);
  env.emplace_back(kEnvAccelMachineRank, std::to_string(world.machine_rank));
  env.emplace_back(kEnvAccelNumMachines, std::to_string(world.num_machines));
  return env;
}

EnvList RankEnv(const NodeWorld& world, int local_rank) {
  EnvList env;
  const int rank = world.first_rank + local_rank;
  if (world.world_size > 1) {
    env.emplace_back(kEnvRank, std::to_string(rank));
    env.emplace_back(kEnvLocalRank, std::to_string(local_rank));
    env.emplace_back(kEnvRoleRank, std::to_string(rank));
  }
  if (rank == 0 && world.terminal_columns > 0) {
    env.emplace_back(kEnvAccelTerminal, std::to_string(world.terminal_columns));
  }
  return env;
}

bool IsRankVariable(std::string_view name) {
  return std::find(std::begin(kRankVariables), std::end(kRankVariables), name) !=
         std::end(kRankVariables);
}

}  // namespace accel
