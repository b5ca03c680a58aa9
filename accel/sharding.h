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

// The rule that chooses which modules become units. The parameters of a unit are gathered
// and freed together.
enum class WrapPolicy {
  kNoWrap,            // The whole model is one unit.
  kTransformerBased,  // Each module of a listed class.
  kSizeBased          // Each module with enough parameters.
};

// The time at which the backward pass gathers the next unit.
enum class BackwardPrefetch {
  kNone,  // When the unit is needed.
  kPre,   // Before the gradients of the current unit are computed: two units are in memory.
  kPost   // After the gradients of the current unit are computed.
};

// The dtype in which parameters travel when they are gathered for a pass.
enum class GatherDtype {
  kOwn,      // The dtype of the parameter.
  kBfloat16  // bf16 for fp32 parameters, half of the bytes. Other parameters keep their dtype.
};

// The form of checkpoints. LOCAL_STATE_DICT of Accelerate is refused, because it cannot be loaded.
enum class StateDictType {
  kFull,    // Full tensors, written by rank 0.
  kSharded  // Each rank writes its part.
};

// Names of modules that become units in version 2, as Accelerate does for models of Transformers.
// The input embedding is one unit. The last norm of `base` and the output embedding are another
// unit together, which also has the input embedding if both embeddings are tied.
struct EmbeddingModules {
  std::string input;   // If empty, there is none.
  std::string output;  // If empty, there is none.
  std::string base;    // The module that holds the last norm. If empty, the model itself.
};

struct ShardingOptions {
  // The version of FSDP whose rules choose the units and order their parameters: 1
  // or 2 (docs/sharded.md).
  int version = 2;
  ShardingStrategy strategy = ShardingStrategy::kFullShard;
  // If set, replaces what the strategy says about freeing parameters after forward. The root, and
  // the unit of the output embedding, are not freed in any case.
  std::optional<bool> reshard_after_forward = {};
  // Ranks of a shard group in the two hybrid strategies. Must divide the number of processes. If 0,
  // the processes of one host are a group.
  int shard_size = 0;
  // If true, this rank's part of the parameters, gradients and optimizer state is in the memory of
  // the CPU, and the optimizer steps there. Between backward passes the gradients are on the CPU
  // then, also in a step. Has no effect without a GPU.
  bool offload_params = false;

  WrapPolicy auto_wrap_policy = WrapPolicy::kNoWrap;
  // Class names, such as "BertLayer", for kTransformerBased.
  std::vector<std::string> transformer_layer_cls_to_wrap = {};
  // For kSizeBased: a module with more parameters is a unit, in version 1 also one with exactly as
  // many. Must not be negative. If 0, the whole model is one unit.
  std::int64_t min_num_params = 0;
  // A regular expression (ECMAScript, at most 1000 bytes) for whole names of modules, such as
  // "head|layers\\.[01]". The parameters of matching modules, and of modules inside them, are whole
  // on each rank, and train as in data parallel training (docs/sharded.md). If the expression is
  // not empty and matches no module, prepare() throws std::invalid_argument.
  std::string ignored_modules = {};
  EmbeddingModules embeddings = {};

  BackwardPrefetch backward_prefetch = BackwardPrefetch::kPre;
  // If true, forward gathers the next unit early, in the order of the previous forward pass.
  bool forward_prefetch = false;
  // If kBfloat16, a gathered parameter remains fp32, but its values are rounded to bf16, as with
  // param_dtype of Python's mixed precision. Layers that compute in bf16 round the values anyway.
  // Norms, embeddings and other layers that compute in fp32 get rounded values too. Optimizers,
  // checkpoints and state dicts have the exact values.
  GatherDtype gather_dtype = GatherDtype::kOwn;
  // Has no effect, because at most one unit is gathered early in any case. Kept
  // for configuration files.
  bool limit_all_gathers = true;

  // The form in which save_state() writes sharded models (docs/sharded.md).
  // load_state() reads both.
  StateDictType state_dict_type = StateDictType::kSharded;
  // Has no effect, because a program always has its original parameters. Kept
  // for configuration files.
  bool use_orig_params = true;
  // Does not change training, because prepare() gives all ranks the parameters and buffers of rank
  // 0 in any case. Kept for configuration files. If false while cpu_ram_efficient_loading is true,
  // the Accelerator throws std::invalid_argument.
  bool sync_module_states = true;
  // Does not change training, because prepare() always copies the values of rank 0. A
  // program may load weights on rank 0 only, and build the model without memory on the
  // others (accel/without_memory.h). Kept for configuration files. If true,
  // sync_module_states must be true.
  bool cpu_ram_efficient_loading = false;
  // If true, backward() throws std::runtime_error unless the model computes parts of its forward
  // pass by accel::checkpoint(). LibTorch's modules have no hooks by which accel could do that
  // itself. If false, a model that calls accel::checkpoint() works as well.
  bool activation_checkpointing = false;
  // If true, accel::checkpoint() keeps arguments that the GPU has computed in pinned memory of the
  // host until the backward pass, while this Accelerator lives. Needs activation_checkpointing and
  // version 2. Has no effect on CPUs.
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
