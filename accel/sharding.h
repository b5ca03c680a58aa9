// How the parameters, gradients and optimizer state of a model are spread over the processes. The
// names and defaults are those of Accelerate's FSDP plugin, version 2, except where a comment says
// otherwise. `accel launch --use_fsdp` sets the same options by environment variables
// (runtime/core/sharding/sharding_options.h). Includes nothing of LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accel {

enum class ShardingStrategy {
  kFullShard,        // Parameters are gathered for each use and freed after it.
  kShardGradOp,      // Parameters stay gathered between forward and backward.
  kNoShard,          // Plain data parallel training.
  kHybridShard,      // kFullShard among the ranks of a shard group, replicas between the groups.
  kHybridShardZero2  // kShardGradOp among the ranks of a shard group.
};

// Which modules become units. The parameters of a unit are gathered and freed together.
enum class WrapPolicy {
  kNoWrap,            // The whole model is one unit.
  kTransformerBased,  // Each module of a listed class.
  kSizeBased          // Each module with enough parameters.
};

// When backward gathers the next unit.
enum class BackwardPrefetch {
  kNone,  // When the unit is needed.
  kPre,   // Before the gradients of the current unit are computed: two units are in memory.
  kPost   // After the gradients of the current unit are computed.
};

// The dtype in which parameters travel when they are gathered for a pass.
enum class GatherDtype {
  kOwn,      // That of the parameter.
  kBfloat16  // bf16 for fp32, half of the bytes. Other dtypes travel as they are.
};

// The form of checkpoints. LOCAL_STATE_DICT of Accelerate is refused, because it cannot be loaded.
enum class StateDictType {
  kFull,    // Full tensors, written by rank 0.
  kSharded  // Each rank writes its part.
};

// Names of modules that get units of their own, as Accelerate's version 2 makes them for models of
// Transformers: the input embedding alone, and the last norm of `base` with the output embedding.
struct EmbeddingModules {
  std::string input;   // If empty, there is none.
  std::string output;  // If empty, there is none.
  std::string base;    // The module that holds the last norm. If empty, the model itself.
};

struct ShardingOptions {
  // 1 or 2: whose rules choose units (docs/sharded.md). Everything else is alike in both.
  int version = 2;
  ShardingStrategy strategy = ShardingStrategy::kFullShard;
  // If set, replaces what the strategy says about freeing parameters after forward.
  std::optional<bool> reshard_after_forward = {};
  // Ranks of a shard group in the two hybrid strategies; a divisor of the number of processes.
  // If 0, the processes of one host are a group.
  int shard_size = 0;
  // If true, this rank's part of the parameters, of the gradients and of the optimizer's state is
  // in the CPU's memory, where the optimizer steps. In a step and between passes, gradients are on
  // the CPU then. No effect without a GPU.
  bool offload_params = false;

  WrapPolicy auto_wrap_policy = WrapPolicy::kNoWrap;
  // Class names, such as "BertLayer", for kTransformerBased.
  std::vector<std::string> transformer_layer_cls_to_wrap = {};
  // Number of parameters of a unit, for kSizeBased; not negative. If 0, the whole model is one
  // unit.
  std::int64_t min_num_params = 0;
  // A regular expression (ECMAScript) for whole names of modules, such as "head|layers\\.[01]". The
  // parameters of these modules and of those inside them are whole on each rank, and train as in
  // data parallel training (docs/sharded.md). If it is not empty and matches no module, prepare()
  // throws std::invalid_argument.
  std::string ignored_modules = {};
  EmbeddingModules embeddings = {};

  BackwardPrefetch backward_prefetch = BackwardPrefetch::kPre;
  // If true, forward gathers the next unit early, in the order of the first forward pass.
  bool forward_prefetch = false;
  // If kBfloat16, a gathered parameter remains fp32 and has numbers that are rounded to bf16, as
  // with param_dtype of Python's mixed precision. With mixed_precision = "bf16", layers that
  // compute in bf16 round them anyway; norms, embeddings and other layers that compute in fp32 get
  // rounded ones too. Optimizers, checkpoints and state dicts have the exact numbers.
  GatherDtype gather_dtype = GatherDtype::kOwn;
  // No effect: at most one unit is gathered early in any case. Kept for configuration files.
  bool limit_all_gathers = true;

  // What save_state() writes (docs/sharded.md). Loading takes either.
  StateDictType state_dict_type = StateDictType::kSharded;
  // No effect: a program always has its own parameters. Kept for configuration files.
  bool use_orig_params = true;
  // No effect: prepare() gives all ranks the parameters and buffers of rank 0. Kept for
  // configuration files.
  bool sync_module_states = true;
  // No effect: a program may load weights on rank 0 only, because the other ranks get them from
  // rank 0, and need no memory for them before (accel/without_memory.h). Kept for configuration
  // files.
  bool cpu_ram_efficient_loading = false;
  // If true, backward() throws std::runtime_error unless the model computes parts of its forward
  // pass by accel::checkpoint(), because modules of LibTorch have no hooks by which accel could do
  // so for it. If false, such a model is checkpointed as well.
  bool activation_checkpointing = false;
  // If true, accel::checkpoint() keeps arguments that the GPU has computed in pinned memory of the
  // host until the backward pass, while this accelerator lives. Needs activation_checkpointing and
  // version 2. No effect on CPUs.
  bool activation_checkpointing_offload = false;

  // Returns true if parameters are freed after forward and gathered again in backward.
  bool frees_after_forward() const {
    return reshard_after_forward.value_or(strategy == ShardingStrategy::kFullShard ||
                                          strategy == ShardingStrategy::kHybridShard);
  }
  // Returns true if there are several replicas of the model, each spread over a group of ranks.
  bool is_hybrid() const {
    return strategy == ShardingStrategy::kHybridShard ||
           strategy == ShardingStrategy::kHybridShardZero2;
  }
};

}  // namespace accel
