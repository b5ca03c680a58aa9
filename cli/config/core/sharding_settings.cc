#include "cli/config/core/setting.h"

namespace accel::cli {
namespace {

using enum Kind;
using enum Given;
using enum Effect;
using enum Print;

constexpr Setting kSettings[] = {
    {"fsdp_config", "fsdp_version", kText, kFileAndFlag, kWorkers, "1", "1|2", "FSDP_VERSION",
     kAsIs, "1 or 2"},
    {"fsdp_config", "fsdp_sharding_strategy", kText, kFileAndFlag, kWorkers, "FULL_SHARD",
     "FULL_SHARD|SHARD_GRAD_OP|NO_SHARD|HYBRID_SHARD|HYBRID_SHARD_ZERO2|_HYBRID_SHARD_ZERO2|1|2|3|"
     "4|5",
     "FSDP_SHARDING_STRATEGY", kAsIs, "what is sharded; version 1 only"},
    {"fsdp_config", "fsdp_reshard_after_forward", kText, kFileAndFlag, kWorkers, "true", "",
     "FSDP_RESHARD_AFTER_FORWARD", kLower,
     "version 2: free gathered parameters after forward; version 1: a sharding strategy"},
    {"fsdp_config", "fsdp_offload_params", kTruth, kFileAndFlag, kWorkers, "false", "",
     "FSDP_OFFLOAD_PARAMS", kLower, "keep parameters and gradients on the CPU"},
    {"fsdp_config", "fsdp_auto_wrap_policy", kText, kFileAndFlag, kWorkers, "",
     "TRANSFORMER_BASED_WRAP|SIZE_BASED_WRAP|NO_WRAP", "FSDP_AUTO_WRAP_POLICY", kAsIs,
     "which modules are gathered together"},
    {"fsdp_config", "fsdp_transformer_layer_cls_to_wrap", kNames, kFileAndFlag, kWorkers, "", "",
     "FSDP_TRANSFORMER_CLS_TO_WRAP", kAsIs, "class names of layers, for TRANSFORMER_BASED_WRAP"},
    {"fsdp_config", "fsdp_min_num_params", kInt, kFileAndFlag, kWorkers, "100000000", "",
     "FSDP_MIN_NUM_PARAMS", kAsIs, "least number of parameters, for SIZE_BASED_WRAP"},
    {"fsdp_config", "fsdp_backward_prefetch", kText, kFileAndFlag, kWorkers, "",
     "BACKWARD_PRE|BACKWARD_POST|NO_PREFETCH|1|2", "FSDP_BACKWARD_PREFETCH", kAsIs,
     "when the next parameters are gathered in backward; version 1 only"},
    {"fsdp_config", "fsdp_forward_prefetch", kTruth, kFileAndFlag, kWorkers, "false", "",
     "FSDP_FORWARD_PREFETCH", kLower, "gather the next parameters in forward; version 1 only"},
    {"fsdp_config", "fsdp_state_dict_type", kText, kFileAndFlag, kWorkers, "",
     "FULL_STATE_DICT|LOCAL_STATE_DICT|SHARDED_STATE_DICT|1|2|3", "FSDP_STATE_DICT_TYPE", kAsIs,
     "form of checkpoints"},
    {"fsdp_config", "fsdp_use_orig_params", kTruth, kFileAndFlag, kWorkers, "true", "",
     "FSDP_USE_ORIG_PARAMS", kLower, "keep the original parameters; version 1 only"},
    {"fsdp_config", "fsdp_cpu_ram_efficient_loading", kTruth, kFileAndFlag, kWorkers, "true", "",
     "FSDP_CPU_RAM_EFFICIENT_LOADING", kLower, "only rank 0 loads the pretrained model"},
    {"fsdp_config", "fsdp_sync_module_states", kTruth, kFileAndFlag, kWorkers, "true", "",
     "FSDP_SYNC_MODULE_STATES", kLower,
     "broadcast parameters from rank 0 at the start; version 1 only"},
    {"fsdp_config", "fsdp_activation_checkpointing", kTruth, kFileAndFlag, kWorkers, "false", "",
     "FSDP_ACTIVATION_CHECKPOINTING", kLower, "compute activations again in backward"},
    {"fsdp_config", "fsdp_activation_checkpointing_offload", kTruth, kFileAndFlag, kWorkers,
     "false", "", "FSDP_ACTIVATION_CHECKPOINTING_OFFLOAD", kLower,
     "keep the inputs of checkpointed layers on the CPU; version 2 only"},
    {"fsdp_config", "fsdp_ignored_modules", kText, kFile, kWorkers, "", "", "FSDP_IGNORED_MODULES",
     kAsIs, "regular expression of modules that are not sharded"},
    {"parallelism_config", "parallelism_config_dp_replicate_size", kInt, kFileAndFlag, kWorkers,
     "1", "", "PARALLELISM_CONFIG_DP_REPLICATE_SIZE", kAsIs, "number of replicas"},
    {"parallelism_config", "parallelism_config_dp_shard_size", kInt, kFileAndFlag, kWorkers, "1",
     "", "PARALLELISM_CONFIG_DP_SHARD_SIZE", kAsIs, "number of shards"},
    {"parallelism_config", "parallelism_config_tp_size", kInt, kFileAndFlag, kWorkers, "1", "",
     "PARALLELISM_CONFIG_TP_SIZE", kAsIs, "degree of tensor parallelism"},
    {"parallelism_config", "parallelism_config_cp_size", kInt, kFileAndFlag, kWorkers, "1", "",
     "PARALLELISM_CONFIG_CP_SIZE", kAsIs, "degree of context parallelism"},
    {"parallelism_config", "parallelism_config_cp_backend", kText, kFileAndFlag, kWorkers, "torch",
     "torch", "PARALLELISM_CONFIG_CP_BACKEND", kAsIs, "backend of context parallelism"},
    {"parallelism_config", "parallelism_config_cp_comm_strategy", kText, kFileAndFlag, kWorkers,
     "allgather", "allgather|alltoall", "PARALLELISM_CONFIG_CP_COMM_STRATEGY", kAsIs,
     "communication of context parallelism"},
    {"parallelism_config", "parallelism_config_sp_size", kInt, kFileAndFlag, kWorkers, "1", "",
     "PARALLELISM_CONFIG_SP_SIZE", kAsIs, "degree of sequence parallelism"},
    {"parallelism_config", "parallelism_config_sp_backend", kText, kFileAndFlag, kWorkers,
     "deepspeed", "deepspeed", "PARALLELISM_CONFIG_SP_BACKEND", kAsIs,
     "backend of sequence parallelism"},
    {"parallelism_config", "parallelism_config_sp_seq_length", kText, kFileAndFlag, kWorkers, "",
     "", "PARALLELISM_CONFIG_SP_SEQ_LENGTH", kAsIs, "length of the sequences"},
    {"parallelism_config", "parallelism_config_sp_seq_length_is_variable", kBool, kFileAndFlag,
     kWorkers, "true", "", "PARALLELISM_CONFIG_SP_SEQ_LENGTH_IS_VARIABLE", kAsIs,
     "the length may change between batches"},
    {"parallelism_config", "parallelism_config_sp_attn_implementation", kText, kFileAndFlag,
     kWorkers, "sdpa", "", "PARALLELISM_CONFIG_SP_ATTN_IMPLEMENTATION", kAsIs,
     "implementation of attention"},
};

}  // namespace

absl::Span<const Setting> ShardingSettings() { return kSettings; }

}  // namespace accel::cli
