// Every option of an Accelerator and of its methods, on one page. Needs nothing of LibTorch.
//
//   accel::Accelerator accelerator({.gradient_accumulation = {.num_steps = 4},
//                                   .mixed_precision = "bf16"});
//
// AcceleratorOptions comes last, because it holds the others.
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

#include "accel/tracker.h"

namespace accel {

// When the gradients of several batches, added up, make one optimizer step.
struct GradientAccumulation {
  // Batches per optimizer step, at least 1.
  int num_steps = 1;
  // Calls of a scheduler's step() while gradients are added up count in its step_count().
  bool adjust_scheduler = true;
  // The last batch of a prepared loader ends the window, however short the window is.
  bool sync_with_dataloader = true;
  // Reduce gradients in every backward pass. This communicates more, but no process ever holds
  // gradients that it has alone.
  bool sync_each_batch = false;
  // Divide the loss by num_steps in a short last window too, as Accelerate does. The batches of
  // that window then count less than others. False: every window is the mean of its batches.
  bool full_window_scaling = false;
};

// The precision that prepared models compute in. Their parameters, gradients and outputs stay fp32.
// kFp16 needs its losses scaled, which backward() and prepared optimizers do.
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

// An option that is a MixedPrecision or the name of one.
class PrecisionChoice {
 public:
  constexpr PrecisionChoice(MixedPrecision precision) : precision_(precision) {}
  // Throw as precision_named() does.
  PrecisionChoice(const char* name) : precision_(precision_named(name)) {}
  PrecisionChoice(const std::string& name) : precision_(precision_named(name)) {}

  // Refuses any other type with a sentence. Without this constructor the compiler would only say
  // that no constructor takes the braces around all options.
  template <typename Other>
  requires(!std::convertible_to<Other, std::string_view>) PrecisionChoice(Other) {
    static_assert(std::same_as<Other, MixedPrecision>,
                  "mixed_precision is an accel::MixedPrecision, or \"no\", \"fp16\" or \"bf16\"");
  }

  constexpr operator MixedPrecision() const { return precision_; }

 private:
  MixedPrecision precision_ = MixedPrecision::kNo;
};

// How the factor moves by which losses are multiplied in fp16, so that small gradients do not
// vanish. The same as the arguments of torch.amp.GradScaler.
struct LossScalingOptions {
  double init_scale = 65536;            // Positive and finite.
  double growth_factor = 2;             // Above 1.
  double backoff_factor = 0.5;          // Between 0 and 1.
  std::int32_t growth_interval = 2000;  // Steps in a row without an overflow; at least 1.
};

// A region of Accelerator::autocast().
struct AutocastOptions {
  // False: a region of full precision inside an autocast region.
  bool enabled = true;
  // Whether a parameter is cast once for the whole outermost region. Unset: as around the region.
  std::optional<bool> cache_enabled;
};

// Which random number generators get rank 0's state when a loop over a prepared loader begins.
// Samplers need neither: prepare() seeds them alike on all ranks, which costs a loop nothing.
struct RngTypes {
  bool torch = false;  // LibTorch's generator of the CPU.
  bool cuda = false;   // LibTorch's generator of the device, if that is a GPU.
};

// The dtype in which gradients travel between the processes. They are fp32 again on arrival.
enum class CommHook {
  kNone,
  kFp16,  // Half of the bytes; gradients beyond 65504 overflow.
  kBf16,  // Half of the bytes; 8 bits of precision.
};

// How gradients are reduced over the processes; as in Python's DistributedDataParallel.
struct DataParallelOptions {
  // True: parameters that take no part in a loss are allowed, at the price of one walk over the
  // graph and one small all-reduce for each backward pass. On some ranks a loss may then even
  // depend on no prepared model, if the model was called. False: such parameters are an error.
  bool find_unused_parameters = false;
  // Promises that every backward pass uses the same parameters as often as the first pass did,
  // which may be several times or not at all. Later passes then need no search. The first pass
  // reduces when it is over, also under accumulate() and no_sync().
  bool static_graph = false;
  // MiB that are reduced at once; at least 1.
  int bucket_cap_mb = 25;
  // Gradients are the memory that is reduced. False: they are copies of it.
  bool gradient_as_bucket_view = true;
  // The buffers of a model in training mode follow rank 0's after each backward pass.
  bool broadcast_buffers = true;
  CommHook comm_hook = CommHook::kNone;
};

// When the ranks compare digests of their parameters. They throw ParametersDiffer if they have
// trained apart.
struct ParameterCheckOptions {
  // With AcceleratorOptions::debug: compare before the second backward pass that reduces gradients,
  // and then before every pass of this number, which is about as often as optimizers step. 0:
  // never.
  int every_steps = 100;
  // Compare in each save_state(), before anything is written.
  bool at_save = true;
};

// Where save_state() puts checkpoints that it names by itself, and where trackers write.
struct ProjectConfiguration {
  std::string project_dir;
  // The folder of the trackers. If empty, project_dir.
  std::string logging_dir = "";
  // save_state() without a folder writes project_dir/checkpoints/checkpoint_N, N = 0, 1, ...
  bool automatic_checkpoint_naming = false;
  // How many of those are kept; at least 1. When a new one is complete, incomplete ones are deleted
  // and then the oldest. Folders without accel's manifest do not count, and are never deleted.
  std::optional<std::size_t> total_limit = std::nullopt;
  // The first N.
  std::uint64_t iteration = 0;

  const std::string& log_folder() const { return logging_dir.empty() ? project_dir : logging_dir; }
};

// What a schedule's lengths are counted in.
enum class SchedulerUnit {
  // Batches of one process, as Accelerate does: an optimizer step of N data-parallel processes is N
  // steps of the schedule, or one if the processes split each batch. A schedule made for one
  // process then fits any number of them.
  kBatches,
  // Optimizer steps, however many processes share one.
  kOptimizerSteps,
};

struct AcceleratorOptions {
  // Stay on the CPU even where there is a GPU. `accel launch --cpu` does the same for a whole job.
  bool cpu = false;
  // prepare() moves models, and prepared loaders move their batches, to the device. False: they
  // stay where they are; only batches that rank 0 reads for all ranks arrive on the device.
  bool device_placement = true;
  // The batch_size of a prepared loader counts over all processes instead of per process.
  bool split_batches = false;
  // Every process gets the same number of equal batches. The first samples are repeated to fill the
  // last batch.
  bool even_batches = true;
  // Rank 0 reads prepared loaders for all ranks and scatters each process's samples. The last batch
  // is then divided instead of filled up. Unset: only for streams whose batches are tensors.
  std::optional<bool> dispatch_batches = {};
  // Prepared loaders shuffle epoch e with the seed e + data_seed, so that the order is that of
  // Python's SeedableRandomSampler. Without data_seed they take the initial seed of rank 0's CPU
  // generator. data_seed alone implies use_seedable_sampler. With neither, prepare() draws a seed
  // from that generator.
  bool use_seedable_sampler = false;
  std::optional<std::uint64_t> data_seed = {};
  // With any of them, to begin a loop over a prepared loader is collective (one broadcast), and is
  // not allowed inside join_uneven_inputs().
  RngTypes rng_types = {};
  // If the device is a GPU, prepared loaders bring batches to it through pinned memory, and copy
  // them in a stream of their own while the batch before is processed.
  bool pin_memory = true;
  bool non_blocking = true;
  // ACCELERATE_GRADIENT_ACCUMULATION_STEPS overrides num_steps.
  GradientAccumulation gradient_accumulation = {};
  // The precision that prepared models compute in: MixedPrecision::kBf16, or "bf16". An
  // ACCELERATE_MIXED_PRECISION of fp16 or bf16, which `accel launch --mixed_precision` sets,
  // overrides it.
  PrecisionChoice mixed_precision = MixedPrecision::kNo;
  // For fp16.
  LossScalingOptions loss_scaling = {};
  // Whether schedulers follow the optimizer, and what their lengths are counted in.
  bool step_scheduler_with_optimizer = true;
  SchedulerUnit scheduler_unit = SchedulerUnit::kBatches;
  DataParallelOptions data_parallel = {};
  ProjectConfiguration project = {};
  // The trackers that init_trackers() starts: "tensorboard", "jsonl", and any accel::Tracker.
  std::vector<TrackerChoice> log_with = {};
  // Compare what the ranks bring to each collective first, which costs two more collectives, and
  // throw DistributedOperationError instead of hanging. ACCELERATE_DEBUG_MODE turns it on too.
  bool debug = false;
  ParameterCheckOptions parameter_check = {};
  // How long to wait for a peer when the world is joined, and in each collective.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
};

// Options of Accelerator's methods.

struct PrepareOptions {
  // False: the model stays on its device. Unset: AcceleratorOptions::device_placement.
  std::optional<bool> device_placement = {};
  // The model makes forward passes only: nothing keeps it consistent over the processes, and
  // nothing about it is collective.
  bool evaluation_mode = false;
};

// As in torch::Tensor::backward().
struct BackwardOptions {
  bool retain_graph = false;  // For a second pass through the same graph.
  // For derivatives of the gradients; retains the graph too. Reduced gradients have no graph:
  // backward() throws std::invalid_argument for a loss of a prepared model of several processes.
  bool create_graph = false;
};

struct JoinOptions {
  // Replaces AcceleratorOptions::even_batches in the loops over prepared loaders that begin inside
  // join_uneven_inputs(). False: no sample is repeated. Streams, and loaders that rank 0 reads for
  // all ranks, are as before.
  std::optional<bool> even_batches = {};
};

struct PadOptions {
  std::int64_t dim = 0;  // Negative: from the last.
  double pad_index = 0;  // The value that is filled in.
  bool pad_first = false;
};

struct SaveOptions {
  // Save from the main process of each machine, for disks that machines do not share.
  bool save_on_each_node = false;
};

// A hook of save_state() or load_state(). `folder` is the checkpoint's.
using CheckpointHook = std::function<void(const std::string& folder)>;

// The steps of a loop that are profiled; as in torch.profiler.schedule(). Skips `skip_first` steps;
// then, in cycles, waits, lets the profiler warm up without keeping what it sees, and records.
struct ProfileSchedule {
  std::int64_t wait = 0;
  std::int64_t warmup = 0;
  std::int64_t active = 1;  // At least 1.
  std::int64_t repeat = 0;  // Cycles. If 0, until the profile ends.
  std::int64_t skip_first = 0;
};

struct ProfileOptions {
  // The folder of profile_RANK.json, and of profile_RANK_CYCLE.json for cycles after the first.
  std::string output_trace_dir = ".";
  // Without one, everything up to the end of the scope is recorded.
  std::optional<ProfileSchedule> schedule = std::nullopt;
  // Called with each trace once it is complete.
  std::function<void(const std::string& path)> on_trace_ready = nullptr;
  bool record_shapes = false;   // Of the operators' inputs.
  bool profile_memory = false;  // Each allocation.
  bool with_flops = false;      // Estimates for matrix products and convolutions.
};

}  // namespace accel
