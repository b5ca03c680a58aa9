#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/accumulation.h"
#include "runtime/core/data_parallel_options.h"
#include "runtime/core/loss_scale.h"
#include "runtime/core/mixed_precision.h"
#include "runtime/core/parameter_check_options.h"
#include "runtime/core/project_configuration.h"
#include "runtime/core/rng_types.h"
#include "runtime/core/schedule_counter.h"
#include "runtime/tracking/tracker_choice.h"

namespace accel {

struct AcceleratorOptions {
  // Stay on the CPU even where there is a GPU. `accel launch --cpu` says the same for the whole
  // job.
  bool cpu = false;
  // prepare() moves models, and prepared loaders their batches, to the device. false: they stay
  // where they are; only what rank 0 reads for all arrives on the device.
  bool device_placement = true;
  // batch_size of a prepared loader counts over all processes instead of per process.
  bool split_batches = false;
  // Every process gets the same number of equal batches; the first samples are repeated to fill the
  // last.
  bool even_batches = true;
  // Rank 0 reads prepared loaders for all and scatters each process's samples; the last batch is
  // then divided instead of filled up. Unset: streams whose batches are tensors.
  std::optional<bool> dispatch_batches = {};
  // Prepared loaders shuffle epoch e with the seed e + data_seed, so that orders are those of
  // Python's SeedableRandomSampler. Without data_seed, rank 0's initial seed of torch's CPU
  // generator counts; data_seed alone implies use_seedable_sampler. Else prepare() draws a seed
  // from that generator.
  bool use_seedable_sampler = false;
  std::optional<std::uint64_t> data_seed = {};
  // With any of them, to begin a loop over a prepared loader is collective: one broadcast, which
  // is not allowed inside of join_uneven_inputs().
  RngTypes rng_types = {};
  // Where the device is a GPU, prepared loaders bring batches to it through pinned memory, and copy
  // them in a stream of their own while the batch before is processed.
  bool pin_memory = true;
  bool non_blocking = true;
  // How many batches make one optimizer step. ACCELERATE_GRADIENT_ACCUMULATION_STEPS goes before
  // num_steps.
  GradientAccumulation gradient_accumulation = {};
  // What prepared models compute in: MixedPrecision::kBf16, or "bf16". fp16 or bf16 in
  // ACCELERATE_MIXED_PRECISION, which `accel launch --mixed_precision` sets, goes before it.
  PrecisionChoice mixed_precision = MixedPrecision::kNo;
  LossScalingOptions loss_scaling = {};  // For fp16.
  // Whether schedulers follow the optimizer, and what their lengths are counted in.
  bool step_scheduler_with_optimizer = true;
  SchedulerUnit scheduler_unit = SchedulerUnit::kBatches;
  // How gradients are reduced over the processes.
  DataParallelOptions data_parallel = {};
  // Where save_state() and load_state() have checkpoints that they name by themselves.
  ProjectConfiguration project = {};
  // What init_trackers() starts: "tensorboard", "jsonl", and any accel::Tracker.
  std::vector<TrackerChoice> log_with = {};
  // Compare what the ranks bring to each collective first, which costs two more of them, and throw
  // DistributedOperationError instead of hanging. ACCELERATE_DEBUG_MODE says so too.
  bool debug = false;
  // When the ranks make sure that they have not trained apart.
  ParameterCheckOptions parameter_check = {};
  // How long to wait for a peer, in joining the world and in each collective.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
};

}  // namespace accel
