// The environment of a worker: the one place that names its variables.
//
// A world of several processes gets torchrun's whole set, so that stock scripts run unchanged; a
// world of one process gets the `simple` environment of Accelerate: no rank, no elastic variables
// (with TORCHELASTIC_USE_AGENT_STORE=True a process group that such a script opens by itself would
// wait for a server that nobody starts). Both get ACCELERATE_* and ACCEL_*.
//
// What torchrun sets and this does not: TORCHELASTIC_ERROR_FILE (a path that only the node can
// choose: the shim sets it) and TORCHELASTIC_SIGNALS_TO_HANDLE (torchrun's own setting, which its
// workers merely inherit). What Accelerate's simple launcher sets and this does not: KMP_AFFINITY
// and KMP_BLOCKTIME (Intel's OpenMP alone reads them, and they would pin every process of a node to
// the same cores).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace accel::common {

// torchrun's.
inline constexpr char kEnvRank[] = "RANK";
inline constexpr char kEnvWorldSize[] = "WORLD_SIZE";
inline constexpr char kEnvLocalRank[] = "LOCAL_RANK";
inline constexpr char kEnvLocalWorldSize[] = "LOCAL_WORLD_SIZE";
inline constexpr char kEnvGroupRank[] = "GROUP_RANK";
inline constexpr char kEnvGroupWorldSize[] = "GROUP_WORLD_SIZE";
inline constexpr char kEnvRoleRank[] = "ROLE_RANK";
inline constexpr char kEnvRoleWorldSize[] = "ROLE_WORLD_SIZE";
inline constexpr char kEnvRoleName[] = "ROLE_NAME";
inline constexpr char kEnvMasterAddr[] = "MASTER_ADDR";
inline constexpr char kEnvMasterPort[] = "MASTER_PORT";
inline constexpr char kEnvElasticRestartCount[] = "TORCHELASTIC_RESTART_COUNT";
inline constexpr char kEnvElasticMaxRestarts[] = "TORCHELASTIC_MAX_RESTARTS";
inline constexpr char kEnvElasticRunId[] = "TORCHELASTIC_RUN_ID";
inline constexpr char kEnvElasticUseAgentStore[] = "TORCHELASTIC_USE_AGENT_STORE";
inline constexpr char kEnvElasticErrorFile[] = "TORCHELASTIC_ERROR_FILE";
inline constexpr char kEnvNcclAsyncErrorHandling[] = "TORCH_NCCL_ASYNC_ERROR_HANDLING";
inline constexpr char kEnvOmpNumThreads[] = "OMP_NUM_THREADS";
// Of the libraries underneath.
inline constexpr char kEnvCudaVisibleDevices[] = "CUDA_VISIBLE_DEVICES";
inline constexpr char kEnvGlooInterface[] = "GLOO_SOCKET_IFNAME";
inline constexpr char kEnvNcclInterface[] = "NCCL_SOCKET_IFNAME";
// Accelerate's.
inline constexpr char kEnvMixedPrecision[] = "ACCELERATE_MIXED_PRECISION";
inline constexpr char kEnvUseCpu[] = "ACCELERATE_USE_CPU";
inline constexpr char kEnvGradientAccumulationSteps[] = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS";
inline constexpr char kEnvDebugMode[] = "ACCELERATE_DEBUG_MODE";
inline constexpr char kEnvDynamoBackend[] = "ACCELERATE_DYNAMO_BACKEND";
inline constexpr char kEnvDynamoMode[] = "ACCELERATE_DYNAMO_MODE";
inline constexpr char kEnvDynamoFullgraph[] = "ACCELERATE_DYNAMO_USE_FULLGRAPH";
inline constexpr char kEnvDynamoDynamic[] = "ACCELERATE_DYNAMO_USE_DYNAMIC";
inline constexpr char kEnvDynamoRegional[] = "ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION";
// Our own.
inline constexpr char kEnvAccelJobId[] = "ACCEL_JOB_ID";
inline constexpr char kEnvAccelGeneration[] = "ACCEL_GENERATION";
inline constexpr char kEnvAccelNode[] = "ACCEL_NODE";
inline constexpr char kEnvAccelMachineRank[] = "ACCEL_MACHINE_RANK";
inline constexpr char kEnvAccelNumMachines[] = "ACCEL_NUM_MACHINES";
// The columns of the terminal that shows this process's output; set for the local main process
// only.
inline constexpr char kEnvAccelTerminal[] = "ACCEL_TERMINAL";

// The submitter's to choose, and not set by the launcher: whether ranks of one host may communicate
// through shared memory, and the path of libaccel_nccl.so.
inline constexpr char kEnvAccelSharedMemory[] = "ACCEL_SHARED_MEMORY";
inline constexpr char kEnvAccelNcclLibrary[] = "ACCEL_NCCL_LIBRARY";

// How many variables a submitter may choose.
inline constexpr int kMostUserVariables = 4096;

// NAME and VALUE, in the order in which they are laid over each other; no name twice.
using EnvList = std::vector<std::pair<std::string, std::string>>;

// The part of a generation that runs on one node, as its workers see it.
struct NodeWorld {
  std::string job_id;
  int generation = 0;
  std::string node_name;
  int machine_rank = 0;
  int num_machines = 1;
  int first_rank = 0;
  int local_world_size = 1;
  int world_size = 1;
  std::string master_addr;  // With the port: unused in a world of one process.
  int master_port = 0;
  std::string interface;  // Of this node; used where there are several. May be empty.
  int restart_count = 0;  // Failures so far.
  int max_restarts = 0;
  bool cpu = false;             // The job asks for no GPU, or the node has none.
  std::vector<int> gpu_ids;     // Dealt to this part; local rank i uses the i-th.
  std::string mixed_precision;  // Empty: no
  bool debug = false;
  int terminal_columns = 0;  // 0: no terminal shows the output.
  // The submitter's own variables. They win over every default, never over what SetByAccel() names.
  EnvList user_env;
};

// What all local ranks share, the submitter's variables included.
EnvList GenerationEnv(const NodeWorld& world);

// What differs between them; laid over GenerationEnv().
EnvList RankEnv(const NodeWorld& world, int local_rank);

// What decides which variables the submitter of a job can choose.
struct EnvRights {
  bool cpu = false;    // The job asks for no GPU.
  bool alone = false;  // It has one process for sure, which may bring a world of its own.
};

// What sets a variable that the submitter of a job cannot choose, as a clause without a full stop
// ("--max_restarts sets it"). Empty: they can.
std::string SetByAccel(std::string_view name, const EnvRights& rights);

// Whether the variable says which rank of which world a process is. An agent that has such
// variables in its own environment (it was started inside another launcher) must not hand them to
// workers.
bool IsRankVariable(std::string_view name);

}  // namespace accel::common
