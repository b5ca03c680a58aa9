#include "common/worker_env.h"

#include <algorithm>
#include <unordered_map>

namespace accel::common {
namespace {

constexpr std::string_view kPlace = "accel sets it for each process of the job";
constexpr std::string_view kStore = "accel sets it to where the job's store listens";

// A variable that gives a process its rank or its world, and a clause that says what sets it.
struct RankVariable {
  std::string_view name;
  std::string_view set_by;
};
constexpr RankVariable kRankVariables[] = {
    {kEnvRank, kPlace},
    {kEnvWorldSize, kPlace},
    {kEnvLocalRank, kPlace},
    {kEnvLocalWorldSize, kPlace},
    {kEnvGroupRank, kPlace},
    {kEnvGroupWorldSize, kPlace},
    {kEnvRoleRank, kPlace},
    {kEnvRoleWorldSize, kPlace},
    {kEnvRoleName, kPlace},
    {kEnvMasterAddr, kStore},
    {kEnvMasterPort, kStore},
    {kEnvElasticRestartCount, "accel counts the job's failures there"},
    {kEnvElasticMaxRestarts, "--max_restarts sets it"},
    {kEnvElasticRunId, "accel sets it to the job's id"},
    {kEnvElasticUseAgentStore, "accel sets it, because it serves the job's store"},
};

const RankVariable* FindRankVariable(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kRankVariables), std::end(kRankVariables),
                   [name](const RankVariable& variable) { return variable.name == name; });
  return found == std::end(kRankVariables) ? nullptr : found;
}

// Merges lists of variables. The last value of a name wins.
class EnvBuilder {
 public:
  void Set(std::string_view name, std::string value) {
    const auto [place, is_new] = places_.try_emplace(std::string(name), env_.size());
    if (is_new) {
      env_.emplace_back(name, std::move(value));
    } else {
      env_[place->second].second = std::move(value);
    }
  }
  void Set(const EnvList& layer) {
    for (const auto& [name, value] : layer) Set(name, value);
  }
  EnvList Take() { return std::move(env_); }

 private:
  EnvList env_;
  std::unordered_map<std::string, size_t> places_;  // From each name to its index in env_.
};

EnvList Defaults(const NodeWorld& world) {
  EnvList env = {
      {kEnvMixedPrecision, world.mixed_precision.empty() ? "no" : world.mixed_precision},
      {kEnvDynamoBackend, "NO"},
      {kEnvDynamoMode, "default"},
      {kEnvDynamoFullgraph, "False"},
      {kEnvDynamoDynamic, "False"},
      {kEnvDynamoRegional, "False"},
      // Always set, because without it Accelerate treats each CPU rank as a separate world.
      {kEnvUseCpu, world.cpu ? "true" : "false"},
  };
  if (world.debug) env.emplace_back(kEnvDebugMode, "true");
  // A job without GPUs must not find one.
  if (world.cpu) env.emplace_back(kEnvCudaVisibleDevices, "");
  if (world.local_world_size > 1) env.emplace_back(kEnvOmpNumThreads, "1");
  if (world.world_size > 1) env.emplace_back(kEnvNcclAsyncErrorHandling, "1");
  if (world.num_machines > 1 && !world.interface.empty()) {
    env.emplace_back(kEnvGlooInterface, world.interface);
    env.emplace_back(kEnvNcclInterface, world.interface);
  }
  return env;
}

void SetWorld(const NodeWorld& world, EnvBuilder* env) {
  env->Set(kEnvWorldSize, std::to_string(world.world_size));
  env->Set(kEnvLocalWorldSize, std::to_string(world.local_world_size));
  env->Set(kEnvGroupWorldSize, std::to_string(world.num_machines));
  env->Set(kEnvRoleWorldSize, std::to_string(world.world_size));
  env->Set(kEnvRoleName, world.role.empty() ? "default" : world.role);
  env->Set(kEnvMasterAddr, world.master_addr);
  env->Set(kEnvMasterPort, std::to_string(world.master_port));
  env->Set(kEnvElasticRestartCount, std::to_string(world.restart_count));
  env->Set(kEnvElasticMaxRestarts, std::to_string(world.max_restarts));
  env->Set(kEnvElasticRunId, world.job_id);
  env->Set(kEnvElasticUseAgentStore, "True");
}

std::string JoinIds(const std::vector<int>& ids) {
  std::string joined;
  for (int id : ids) joined += (joined.empty() ? "" : ",") + std::to_string(id);
  return joined;
}

}  // namespace

EnvList SharedEnv(const NodeWorld& world) {
  EnvBuilder env;
  env.Set(Defaults(world));
  env.Set(world.user_env);
  if (!world.cpu) env.Set(kEnvCudaVisibleDevices, JoinIds(world.gpu_ids));
  // A single process gets no world (docs/decisions/0012).
  if (world.world_size > 1) SetWorld(world, &env);
  env.Set(kEnvAccelJobId, world.job_id);
  env.Set(kEnvAccelGeneration, std::to_string(world.generation));
  env.Set(kEnvAccelNumMachines, std::to_string(world.num_machines));
  return env.Take();
}

EnvList NodeEnv(const NodeWorld& world) {
  EnvList env = {{kEnvAccelNode, world.node_name},
                 {kEnvAccelMachineRank, std::to_string(world.machine_rank)}};
  if (world.world_size > 1) env.emplace_back(kEnvGroupRank, std::to_string(world.machine_rank));
  return env;
}

EnvList GenerationEnv(const NodeWorld& world) {
  EnvBuilder env;
  env.Set(SharedEnv(world));
  env.Set(NodeEnv(world));
  return env.Take();
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

std::string SetByAccel(std::string_view name, const EnvRights& rights) {
  if (const RankVariable* variable = FindRankVariable(name)) {
    return rights.alone ? "" : std::string(variable->set_by);
  }
  if (name == kEnvElasticErrorFile) return "accel sets it to a file next to the process's output";
  if (name == kEnvCudaVisibleDevices) {
    return rights.cpu ? "" : "accel sets it to the GPUs that the job holds (--gpu_ids)";
  }
  if (name == kEnvAccelSharedMemory || name == kEnvAccelNcclLibrary) return "";
  return name.substr(0, 6) == "ACCEL_" ? "names that begin with ACCEL_ are reserved for accel" : "";
}

bool IsRankVariable(std::string_view name) { return FindRankVariable(name) != nullptr; }

}  // namespace accel::common
