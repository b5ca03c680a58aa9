// The environment variables of a worker. Their names are defined here, with one exception.
// Variables that carry one setting of a configuration file (FSDP_*, MEGATRON_LM_* and so on) are in
// the table of cli/config/core/setting.h.
//
// A world of several processes gets all variables of torchrun, so that existing scripts run
// unchanged. A world of one process gets the environment of Accelerate's `simple` launcher, which
// has no rank and no elastic variables. TORCHELASTIC_USE_AGENT_STORE=True, for example, would make
// a process group in such a script wait for a server that does not exist. Worlds of both kinds get
// ACCELERATE_* and ACCEL_*.
//
// ACCEL_REPORT_SOCKET and ACCEL_BEAT_SOCKET are set by the shim. Two variables of torchrun are not
// set here. TORCHELASTIC_ERROR_FILE is set by the shim, because it is a path on the node.
// TORCHELASTIC_SIGNALS_TO_HANDLE is a setting of torchrun itself, which its workers only inherit.
// `accel launch` sets KMP_AFFINITY and KMP_BLOCKTIME, which Accelerate's simple launcher sets, only
// for one process. With several, they would pin all processes of a node to the same cores.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace accel::common {

// Variables of torchrun.
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
// Variables of Intel's OpenMP.
inline constexpr char kEnvKmpAffinity[] = "KMP_AFFINITY";
inline constexpr char kEnvKmpBlocktime[] = "KMP_BLOCKTIME";
// Variables of CUDA, Gloo and NCCL.
inline constexpr char kEnvCudaVisibleDevices[] = "CUDA_VISIBLE_DEVICES";
inline constexpr char kEnvGlooInterface[] = "GLOO_SOCKET_IFNAME";
inline constexpr char kEnvNcclInterface[] = "NCCL_SOCKET_IFNAME";
// Variables of Accelerate.
inline constexpr char kEnvMixedPrecision[] = "ACCELERATE_MIXED_PRECISION";
inline constexpr char kEnvUseCpu[] = "ACCELERATE_USE_CPU";
inline constexpr char kEnvGradientAccumulationSteps[] = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS";
inline constexpr char kEnvCpuAffinity[] = "ACCELERATE_CPU_AFFINITY";
inline constexpr char kEnvDebugMode[] = "ACCELERATE_DEBUG_MODE";
inline constexpr char kEnvDynamoBackend[] = "ACCELERATE_DYNAMO_BACKEND";
inline constexpr char kEnvDynamoMode[] = "ACCELERATE_DYNAMO_MODE";
inline constexpr char kEnvDynamoFullgraph[] = "ACCELERATE_DYNAMO_USE_FULLGRAPH";
inline constexpr char kEnvDynamoDynamic[] = "ACCELERATE_DYNAMO_USE_DYNAMIC";
inline constexpr char kEnvDynamoRegional[] = "ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION";
// Variables of accel.
inline constexpr char kEnvAccelJobId[] = "ACCEL_JOB_ID";
inline constexpr char kEnvAccelGeneration[] = "ACCEL_GENERATION";
inline constexpr char kEnvAccelNode[] = "ACCEL_NODE";
inline constexpr char kEnvAccelMachineRank[] = "ACCEL_MACHINE_RANK";
inline constexpr char kEnvAccelNumMachines[] = "ACCEL_NUM_MACHINES";
// The width in columns of the terminal that shows this process's output. Set for rank 0 only.
inline constexpr char kEnvAccelTerminal[] = "ACCEL_TERMINAL";
// DESCRIPTOR:INODE of the socket on which a worker of an elastic job reports that a checkpoint is
// committed. The shim sets it, because it makes the socket (docs/decisions/0045).
inline constexpr char kEnvAccelReportSocket[] = "ACCEL_REPORT_SOCKET";
// The message by which a worker reports this.
inline constexpr std::string_view kCheckpointMessage = "checkpoint";
// DESCRIPTOR:INODE of the socket on which a worker of a job with a hang timeout sends its signs of
// progress (docs/decisions/0097). The shim sets it. The socket may be the one for checkpoints.
inline constexpr char kEnvAccelBeatSocket[] = "ACCEL_BEAT_SOCKET";
// The messages "beat RANK", "wait RANK" and "pause RANK": a rank has made progress, waits for other
// ranks, or does something that may take any time. RANK is decimal, and 0 in a world of one
// process.
inline constexpr std::string_view kBeatMessage = "beat ";
inline constexpr std::string_view kWaitMessage = "wait ";
inline constexpr std::string_view kPauseMessage = "pause ";

// Variables that only the submitter sets. The first says whether ranks of one host may communicate
// through shared memory. The second is the path of libaccel_nccl.so.
inline constexpr char kEnvAccelSharedMemory[] = "ACCEL_SHARED_MEMORY";
inline constexpr char kEnvAccelNcclLibrary[] = "ACCEL_NCCL_LIBRARY";

// Maximum number of variables that a submitter may set.
inline constexpr int kMaxUserVariables = 4096;

// Pairs of a name and a value. No name occurs twice in a list.
using EnvList = std::vector<std::pair<std::string, std::string>>;

// The facts about a part of a generation, and its node, from which the variables of its
// workers are made.
struct NodeWorld {
  std::string job_id;
  int generation = 0;
  std::string node_name;
  int machine_rank = 0;
  int num_machines = 1;
  int first_rank = 0;
  int local_world_size = 1;
  int world_size = 1;
  std::string master_addr;  // Address of the job's store. Unused in a world of one process.
  int master_port = 0;      // Port of the job's store. Unused in a world of one process.
  // This node's network interface, used if there are several nodes. May be empty.
  std::string interface;
  int restart_count = 0;  // Number of failures so far.
  int max_restarts = 0;
  bool cpu = false;             // The job requests no GPU, or the node has none.
  std::vector<int> gpu_ids;     // GPUs assigned to this part. Local rank i uses the i-th.
  std::string mixed_precision;  // If empty, "no".
  std::string role;             // If empty, "default".
  bool debug = false;
  int terminal_columns = 0;  // 0 if no terminal shows the output.
  // The submitter's variables. They override all others, except those that SetByAccel() refuses.
  EnvList user_env;
};

// Returns the variables that all ranks of a node share, with those that the submitter has set.
// These are SharedEnv() and NodeEnv() together.
EnvList GenerationEnv(const NodeWorld& world);

// Returns the part of GenerationEnv() that is the same on each node that has the same interface,
// local world size and GPUs. Does not read the node's name, its machine rank and its first rank.
EnvList SharedEnv(const NodeWorld& world);

// Returns the part of GenerationEnv() that differs from node to node. The submitter of a job that
// gets these variables cannot set them.
EnvList NodeEnv(const NodeWorld& world);

// Returns the variables that differ between local ranks. They win over those of GenerationEnv().
EnvList RankEnv(const NodeWorld& world, int local_rank);

// The facts about a job that decide which variables its submitter may set.
struct EnvRights {
  bool cpu = false;    // The job requests no GPU.
  bool alone = false;  // The job always has one process, which may define its own world.
};

// Returns "" if the submitter of a job may set the variable. Otherwise returns what sets it
// instead, as a clause without a full stop ("--max_restarts sets it").
std::string SetByAccel(std::string_view name, const EnvRights& rights);

// Returns true if the variable gives a process its rank or its world. An agent that
// another launcher has started may have such variables in its environment. It must not
// pass them on to workers.
bool IsRankVariable(std::string_view name);

}  // namespace accel::common
