// All options of an Accelerator and of its methods, on one page. Includes nothing of LibTorch.
//
//   accel::Accelerator accelerator({.gradient_accumulation = {.num_steps = 4},
//                                   .mixed_precision = "bf16"});
//
// The types are aggregates, to initialize with designated initializers. AcceleratorOptions follows
// the groups of options that it holds. The options of methods come after it. A value out of range
// is rejected where it is used, by std::invalid_argument with the option's name.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "accel/sharding.h"
#include "accel/tracker.h"

namespace accel {

// The options of gradient accumulation, which adds up the gradients of several batches for
// one optimizer step.
struct GradientAccumulation {
  // Batches per optimizer step, at least 1.
  int num_steps = 1;
  // If true, step_count() of a scheduler also counts calls of step() while gradients accumulate.
  bool adjust_scheduler = true;
  // If true, the last batch of a prepared loader ends the window, however short the window is.
  bool sync_with_dataloader = true;
  // If true, every backward pass reduces gradients. This communicates more, but no process ever
  // holds unreduced gradients.
  bool sync_each_batch = false;
  // If true, the loss is divided by num_steps also in a short last window, as in Accelerate, so the
  // batches of that window have less weight. If false, every window is the mean of its batches.
  bool full_window_scaling = false;
};

// The precision that prepared models compute in. Their parameters, gradients and outputs remain
// fp32. With kFp16, backward() scales losses and prepared optimizers unscale the gradients.
enum class MixedPrecision { kNo, kFp16, kBf16 };

// Returns the precision of this name: "no", "fp16" or "bf16", as in Python's Accelerate and in
// `accel launch --mixed_precision`. Throws std::invalid_argument for any other name.
inline MixedPrecision precision_named(std::string_view name) {
  if (name == "no") return MixedPrecision::kNo;
  if (name == "fp16") return MixedPrecision::kFp16;
  if (name == "bf16") return MixedPrecision::kBf16;
  throw std::invalid_argument("mixed_precision \"" + std::string(name) +
                              "\" should be no, fp16 or bf16" +
                              (name == "fp8" ? ": C++ programs have no fp8" : ""));
}

// A MixedPrecision, given as such or by its name.
class PrecisionChoice {
 public:
  constexpr PrecisionChoice(MixedPrecision precision) : precision_(precision) {}
  // Throw as precision_named() does.
  PrecisionChoice(const char* name) : precision_(precision_named(name)) {}
  PrecisionChoice(const std::string& name) : precision_(precision_named(name)) {}

  // Rejects other types with a readable compiler error, except those that convert to
  // std::string_view. Without this constructor, the compiler would only say that no constructor
  // takes the braces around all options.
  template <typename Other>
  requires(!std::convertible_to<Other, std::string_view>) PrecisionChoice(Other) {
    static_assert(std::same_as<Other, MixedPrecision>,
                  "mixed_precision is an accel::MixedPrecision, or \"no\", \"fp16\" or \"bf16\"");
  }

  constexpr operator MixedPrecision() const { return precision_; }

 private:
  MixedPrecision precision_ = MixedPrecision::kNo;
};

// The options of the loss scale, the factor by which losses are multiplied in fp16, so that small
// gradients do not become 0. They are the arguments of torch.amp.GradScaler.
struct LossScalingOptions {
  double init_scale = 65536;            // Positive and finite.
  double growth_factor = 2;             // Above 1.
  double backoff_factor = 0.5;          // Between 0 and 1.
  std::int32_t growth_interval = 2000;  // Steps in a row without an overflow; at least 1.
};

// A region of Accelerator::autocast().
struct AutocastOptions {
  // If false, the scope is a region of full precision inside an autocast region.
  bool enabled = true;
  // If true, each parameter is cast once for the whole outermost region. If unset, the value of the
  // enclosing region is kept.
  std::optional<bool> cache_enabled;
};

// The random number generators that get rank 0's state when a loop over a prepared loader begins.
// Samplers need neither of them. prepare() gives samplers the same seed on all ranks, so loops need
// no communication for that.
struct RngTypes {
  bool torch = false;  // LibTorch's generator of the CPU.
  bool cuda = false;   // LibTorch's generator of the device, if that is a GPU.
};

// The dtype in which gradients are sent between the processes. The receiver converts them back to
// the dtype of the parameters.
enum class CommHook {
  kNone,
  kFp16,  // Half of the bytes; gradients beyond 65504 overflow.
  kBf16,  // Half of the bytes; 8 bits of precision.
};

// The options of data parallel training, as in Python's DistributedDataParallel.
struct DataParallelOptions {
  // If true, a loss may leave out parameters, at the price of one walk over the graph and one small
  // all-reduce for each backward pass. The loss of a rank may then depend on no prepared model at
  // all, if the rank has called the model. If false, a parameter that gets no gradient is an error.
  bool find_unused_parameters = false;
  // Promises that every backward pass uses each parameter as often as the first pass did. A
  // parameter may be used several times or never. Later passes then need no search for unused
  // parameters. The first pass reduces at its end, even under accumulate() and no_sync().
  bool static_graph = false;
  // Size of a bucket, the gradients that are reduced by one call, in MiB; at least 1.
  int bucket_cap_mb = 25;
  // If true, gradients are views of the buckets. If false, gradients are copied to and
  // from the buckets.
  bool gradient_as_bucket_view = true;
  // If true, each backward pass that reduces gradients copies rank 0's buffers to all ranks, for
  // models in training mode.
  bool broadcast_buffers = true;
  CommHook comm_hook = CommHook::kNone;
};

// The times at which the ranks compare digests of their parameters. If the digests differ, the
// ranks have trained apart, and throw ParametersDiffer (docs/decisions/0029).
struct ParameterCheckOptions {
  // With AcceleratorOptions::debug, the ranks compare before the second backward pass that reduces
  // gradients, and then every `every_steps` such passes, about as many optimizer steps. If 0, no
  // backward pass compares. Must not be negative.
  int every_steps = 100;
  // If true, each save_state() compares before anything is written.
  bool at_save = true;
};

// The places of trackers' files, and of the checkpoints that save_state() names by itself.
struct ProjectConfiguration {
  std::string project_dir;
  // The folder of the trackers. If empty, they use project_dir.
  std::string logging_dir = "";
  // If true, save_state() without a folder writes project_dir/checkpoints/checkpoint_N. N counts
  // from `iteration` on.
  bool automatic_checkpoint_naming = false;
  // Maximum number of checkpoints with automatic names that are kept; at least 1. If unset, all are
  // kept. When a new checkpoint is complete, incomplete ones are deleted first and then the oldest.
  // Folders without accel's manifest do not count, and are never deleted.
  std::optional<std::size_t> total_limit = std::nullopt;
  // The N of the first checkpoint.
  std::uint64_t iteration = 0;

  const std::string& log_folder() const { return logging_dir.empty() ? project_dir : logging_dir; }
};

// The unit in which the lengths of a schedule are counted.
enum class SchedulerUnit {
  // Batches of one process, as in Accelerate. An optimizer step of N data-parallel processes is N
  // steps of the schedule, or one step if the processes split each batch. A schedule for one
  // process then fits any number of processes.
  kBatches,
  // Optimizer steps, regardless of the number of processes.
  kOptimizerSteps,
};

struct AcceleratorOptions {
  // If true, uses the CPU even if there is a GPU. `accel launch --cpu` does the same for
  // a whole job.
  bool cpu = false;
  // If true, prepare() moves models, and prepared loaders move their batches, to the device. If
  // false, models and batches are not moved. Batches that rank 0 reads for all ranks arrive on the
  // device in any case.
  bool device_placement = true;
  // If true, the batch_size of a prepared loader is the sum over all processes instead of that
  // of each process.
  bool split_batches = false;
  // If true, every process gets the same number of equal batches. The first samples are repeated to
  // fill the last batch.
  bool even_batches = true;
  // If true, rank 0 reads prepared loaders for all ranks and scatters each process's samples. The
  // last batch is then divided instead of filled. If unset, rank 0 does so only for streams whose
  // batches are tensors.
  std::optional<bool> dispatch_batches = {};
  // If true, prepared loaders shuffle epoch e with the seed e + data_seed, in the order of
  // Python's SeedableRandomSampler. If data_seed is unset, it is the initial seed of rank 0's CPU
  // generator. data_seed alone implies use_seedable_sampler. With neither, prepare() draws a seed
  // from that generator.
  bool use_seedable_sampler = false;
  std::optional<std::uint64_t> data_seed = {};
  // If any is set, beginning a loop over a prepared loader is collective (one broadcast), and is
  // not allowed inside join_uneven_inputs().
  RngTypes rng_types = {};
  // If the device is a GPU, prepared loaders copy batches in a separate stream: through pinned
  // memory (pin_memory), and while the previous batch is processed (non_blocking).
  bool pin_memory = true;
  bool non_blocking = true;
  // ACCELERATE_GRADIENT_ACCUMULATION_STEPS overrides num_steps.
  GradientAccumulation gradient_accumulation = {};
  // The precision that prepared models compute in: for example MixedPrecision::kBf16, or "bf16".
  // ACCELERATE_MIXED_PRECISION overrides this option if it is fp16 or bf16. `accel launch
  // --mixed_precision` sets that variable.
  PrecisionChoice mixed_precision = MixedPrecision::kNo;
  // Used in fp16 only.
  LossScalingOptions loss_scaling = {};
  // If true, a prepared schedule moves only when the optimizer steps, by scheduler_unit. If false,
  // each call of step() is one step of the schedule.
  bool step_scheduler_with_optimizer = true;
  SchedulerUnit scheduler_unit = SchedulerUnit::kBatches;
  DataParallelOptions data_parallel = {};
  // If set, parameters, gradients and optimizer state of prepared models are spread over the
  // processes (docs/sharded.md). ACCELERATE_USE_FSDP=true, with the variables of `accel launch
  // --use_fsdp`, overrides this option.
  std::optional<ShardingOptions> sharding = {};
  ProjectConfiguration project = {};
  // The trackers that init_trackers() starts: "tensorboard", "jsonl" or objects of
  // your own classes.
  std::vector<TrackerChoice> log_with = {};
  // If true, the ranks compare their arguments before each collective, which costs two more
  // collectives, and throw DistributedOperationError instead of hanging. ACCELERATE_DEBUG_MODE
  // turns it on too.
  bool debug = false;
  ParameterCheckOptions parameter_check = {};
  // Maximum time to wait for a peer when the world is joined, and in each collective.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
};

// Options of Accelerator's methods.

struct PrepareOptions {
  // If false, the model is not moved. If unset, AcceleratorOptions::device_placement decides.
  std::optional<bool> device_placement = {};
  // If true, the model makes forward passes only: it is not kept consistent over the processes, and
  // preparing it is not collective.
  bool evaluation_mode = false;
};

// The options of torch::Tensor::backward().
struct BackwardOptions {
  bool retain_graph = false;  // For a second pass through the same graph.
  // If true, the gradients get a graph, so that derivatives of them can be taken. Retains the graph
  // of the loss too. With several processes, backward() throws std::invalid_argument for a loss of
  // a prepared model, because reduced gradients have no graph.
  bool create_graph = false;
};

struct JoinOptions {
  // Replaces AcceleratorOptions::even_batches in loops over prepared loaders that begin inside
  // join_uneven_inputs(). If false, no sample is repeated. Does not affect streams, nor loaders
  // that rank 0 reads for all ranks.
  std::optional<bool> even_batches = {};
};

struct PadOptions {
  std::int64_t dim = 0;  // If negative, counts from the last.
  double pad_index = 0;  // The value of the padding.
  bool pad_first = false;
};

struct SaveOptions {
  // If true, the main process of each machine saves, for disks that machines do not share.
  bool save_on_each_node = false;
};

// A hook of save_state() or load_state(). `folder` is the folder of the checkpoint.
using CheckpointHook = std::function<void(const std::string& folder)>;

// The steps of a loop that are profiled, as in torch.profiler.schedule(). The first `skip_first`
// steps are skipped. Each cycle then has `wait` steps that are not profiled, `warmup` steps whose
// events are discarded, and `active` steps that are recorded.
struct ProfileSchedule {
  std::int64_t wait = 0;
  std::int64_t warmup = 0;
  std::int64_t active = 1;  // At least 1.
  std::int64_t repeat = 0;  // Number of cycles. If 0, until the profile ends.
  std::int64_t skip_first = 0;
};

struct ProfileOptions {
  // The folder of the traces. The first cycle writes profile_RANK.json, and a
  // later one profile_RANK_CYCLE.json.
  std::string output_trace_dir = ".";
  // If unset, everything up to the end of the scope is recorded.
  std::optional<ProfileSchedule> schedule = std::nullopt;
  // Called with the path of each trace when it is complete. May be empty.
  std::function<void(const std::string& path)> on_trace_ready = nullptr;
  bool record_shapes = false;   // Shapes of the operators' inputs.
  bool profile_memory = false;  // Each allocation.
  bool with_flops = false;      // Estimates, for matrix products and convolutions.
};

}  // namespace accel
