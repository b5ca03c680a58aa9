#include "runtime/prepare/preparation.h"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "runtime/checkpoint/run_state.h"
#include "runtime/comm/communicator.h"
#include "runtime/data/loader_context.h"
#include "runtime/data/sampler_rng.h"
#include "runtime/memory/large_blocks.h"
#include "runtime/parallel/data_parallel.h"
#include "runtime/parallel/make_sharded.h"
#include "runtime/parallel/without_memory.h"
#include "runtime/process/generator_state.h"
#include "runtime/process/process_control.h"
#include "runtime/process/process_state.h"
#include "runtime/recompute/saved_input.h"
#include "runtime/recording/recorded_tensors.h"
#include "runtime/step/training_step.h"

namespace accel::runtime {
namespace {

bool shards(const AcceleratorOptions& options, const ProcessControl& processes) {
  return options.sharding && options.sharding->strategy != ShardingStrategy::kNoShard &&
         processes.use_distributed();
}

}  // namespace

Preparation::Preparation(std::shared_ptr<ProcessState> process, const ProcessControl& processes,
                         const AcceleratorOptions& options, TrainingStep& step, RunState& run)
    : process_(std::move(process)),
      processes_(processes),
      options_(options),
      step_(step),
      run_(run),
      precision_{process_->device.type(), options.mixed_precision},
      transfer_(std::make_shared<DeviceTransfer>(
          options.device_placement ? std::optional(process_->device) : std::nullopt,
          options.pin_memory, options.non_blocking, /*home=*/process_->device)),
      inputs_on_host_(options.sharding && options.sharding->activation_checkpointing_offload
                          ? std::make_shared<InputsOnHost>()
                          : nullptr) {
  // Called before the program builds its model, so that the memory of the model is returned to
  // the system, too.
  if (process_->device.is_cpu() && shards(options, processes)) use_large_blocks();
}

std::shared_ptr<ParallelStrategy> Preparation::parallelize(
    std::shared_ptr<torch::nn::Module> module, const PrepareOptions& options) {
  const bool is_sharded = shards(options_, processes_);
  RecordedTensors recorded;
  if (lacks_memory(*module)) {
    recorded = RecordedTensors(*module);
    if (is_sharded && !options.evaluation_mode) {
      give_device(*module, process_->device);
    } else {
      recorded.give_whole(process_->device);
      give_memory(*module, process_->device);
    }
  }
  // Moves also the tensors that were built with memory.
  if (options.device_placement.value_or(options_.device_placement)) module->to(process_->device);
  run_.add_model(module);
  if (!processes_.use_distributed() || options.evaluation_mode) return nullptr;
  auto strategy = process_->models.find(*module);
  const auto operation = processes_.begin_operation("prepare");
  if (strategy == nullptr) {
    strategy = !is_sharded
                   ? make_data_parallel(std::move(module), process_->communicator)
                   : make_sharded(std::move(module), process_->communicator, *options_.sharding,
                                  process_->environment.local_world_size, std::move(recorded));
  }
  strategy->prepare(options_.data_parallel);
  process_->models.add(strategy, &run_);
  step_.add_model(strategy);
  // The returned pointer also keeps the process's world alive, because the model reduces its
  // gradients in it (docs/decisions/0025).
  struct Held {
    std::shared_ptr<ProcessState> process;
    std::shared_ptr<ParallelStrategy> strategy;
  };
  const auto held = std::make_shared<Held>(Held{process_, strategy});
  return {held, strategy.get()};
}

OptimizerStep Preparation::add_optimizer(
    const std::shared_ptr<torch::optim::Optimizer>& optimizer) {
  run_.add_optimizer(optimizer);
  return step_.add_optimizer(optimizer);
}

void Preparation::bind(Scheduler& scheduler) {
  if (scheduler.follow(scheduler_options(), step_.window(), step_.scaler())) {
    run_.add_scheduler(scheduler.prepared());
  }
}

// Returns the same follower for a scheduler that is prepared again.
std::shared_ptr<AnyTorchScheduler> Preparation::follower_of(
    const std::shared_ptr<torch::optim::LRScheduler>& scheduler) {
  for (const auto& prepared : run_.schedulers()) {
    auto follower = std::dynamic_pointer_cast<AnyTorchScheduler>(prepared);
    if (follower != nullptr && follower->follows(scheduler.get())) return follower;
  }
  auto follower = std::make_shared<AnyTorchScheduler>(scheduler, scheduler_options(),
                                                      step_.window(), step_.scaler());
  run_.add_scheduler(follower);
  return follower;
}

SchedulerOptions Preparation::scheduler_options() const {
  return {.step_with_optimizer = options_.step_scheduler_with_optimizer,
          .unit = options_.scheduler_unit,
          .split_batches = options_.split_batches,
          .data_parallel_size = process_->mesh.data_parallel_size(),
          .adjust_scheduler = options_.gradient_accumulation.adjust_scheduler};
}

// Every rank draws a seed, so that the generators of all ranks remain in the same state. Rank 0's
// seed is used.
std::shared_ptr<const LoaderContext> Preparation::bind_loader() {
  const bool seedable = options_.use_seedable_sampler || options_.data_seed;
  auto seed = static_cast<std::int64_t>(seedable ? options_.data_seed.value_or(initial_seed())
                                                 : draw_seed());
  if (processes_.use_distributed()) {
    const auto operation = processes_.begin_operation("prepare");
    seed = process_->communicator->broadcast_number(seed);
  }
  return std::make_shared<const LoaderContext>(
      LoaderContext{.prepared = true,
                    .num_processes = static_cast<std::size_t>(process_->mesh.data_parallel_size()),
                    .process_index = static_cast<std::size_t>(process_->mesh.data_parallel_rank()),
                    .split_batches = options_.split_batches,
                    .even_batches = options_.even_batches,
                    .dispatch_batches = options_.dispatch_batches,
                    .seed = static_cast<std::uint64_t>(seed),
                    .transfer = transfer_,
                    .loops = {process_, process_->loaders.get()},  // Keeps the world alive.
                    .communicator = process_->communicator,
                    .before_epoch = generator_synchronization()});
}

void Preparation::add_loader(const std::shared_ptr<EpochSequence>& epochs) {
  run_.add_loader(epochs);
}

// Returns the function that is called when an epoch of a prepared loader begins. It is empty if no
// rng_types are set.
std::function<void()> Preparation::generator_synchronization() const {
  std::vector<c10::Device> devices;
  if (options_.rng_types.torch) devices.push_back(c10::kCPU);
  if (options_.rng_types.cuda && process_->device.is_cuda()) devices.push_back(process_->device);
  if (!processes_.use_distributed() || devices.empty()) return {};
  return [process = process_, devices] {
    if (process->uneven_inputs != nullptr) {
      throw std::logic_error(
          "with rng_types, a loop over a prepared loader cannot begin inside join_uneven_inputs(), "
          "because it would wait for processes that have ended");
    }
    const OperationScope operation(process->communicator.get(),
                                   "the start of a loop, with rng_types,");
    synchronize_generators(*process->communicator, devices);
  };
}

}  // namespace accel::runtime
