#include "accel/accelerator.h"

#include <ATen/DeviceAccelerator.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/types.h>

#include <stdexcept>

#include "runtime/core/mixed_precision.h"
#include "runtime/distinct.h"
#include "runtime/generator_state.h"
#include "runtime/parallel/data_parallel.h"

namespace accel {

Accelerator::Accelerator(const AcceleratorOptions& options)
    : Collectives(ProcessState::acquire(options.cpu, options.timeout), options.debug),
      Reporting(options.log_with, options.project.log_folder(), process_index(),
                device().is_cuda()),
      options_(options),
      precision_{state_->device.type(),
                 choose_precision(options.mixed_precision, state_->environment.mixed_precision)},
      transfer_(std::make_shared<DeviceTransfer>(
          options.device_placement ? std::optional(device()) : std::nullopt, options.pin_memory,
          options.non_blocking)),
      checkpointer_(std::make_shared<Checkpointer>(state_, options.project)),
      parameter_check_(std::make_shared<ParameterCheck>(
          options.parameter_check, options.debug || state_->environment.debug)) {
  GradientAccumulation accumulation = options.gradient_accumulation;
  accumulation.num_steps =
      state_->environment.gradient_accumulation_steps.value_or(accumulation.num_steps);
  // Optimizers hold it, and with it the world of this process, as all that is prepared does.
  accumulation_ = std::shared_ptr<Accumulation>(
      new Accumulation(accumulation), [state = state_](Accumulation* counted) { delete counted; });
  options_.cpu = state_->cpu;
  options_.mixed_precision = mixed_precision();
  options_.gradient_accumulation = accumulation;
  options_.debug = options.debug || state_->environment.debug;
  if (mixed_precision() == MixedPrecision::kFp16) {
    scaler_ = std::make_shared<GradScaler>(options.loss_scaling);
  }
  checkpointer_->set_accumulation(accumulation_);
  checkpointer_->set_scaler(scaler_);
}

std::shared_ptr<ParallelStrategy> Accelerator::parallelize(
    std::shared_ptr<torch::nn::Module> module, const PrepareOptions& options) {
  if (options.device_placement.value_or(options_.device_placement)) module->to(device());
  checkpointer_->add_model(module);
  if (!use_distributed() || options.evaluation_mode) return nullptr;
  auto strategy = state_->models.find(*module);
  if (strategy == nullptr) strategy = make_data_parallel(std::move(module), state_->communicator);
  const auto operation = begin_operation("prepare");
  strategy->prepare(options_.data_parallel);
  state_->models.add(strategy, checkpointer_.get());
  parameter_check_->add_model(strategy->module(), strategy);
  // Whoever holds the model holds the world in which it is reduced.
  struct Held {
    std::shared_ptr<ProcessState> state;
    std::shared_ptr<ParallelStrategy> strategy;
  };
  const auto held = std::make_shared<Held>(Held{state_, strategy});
  return {held, strategy.get()};
}

// Every rank draws, so that their generators stay in step, and rank 0's number counts.
LoaderContext Accelerator::bind_loader() {
  const bool seedable = options_.use_seedable_sampler || options_.data_seed;
  auto seed = static_cast<std::int64_t>(seedable ? options_.data_seed.value_or(initial_seed())
                                                 : draw_seed());
  if (use_distributed()) {
    const auto operation = begin_operation("prepare");
    seed = state_->communicator->broadcast_number(seed);
  }
  return {.prepared = true,
          .num_processes = static_cast<std::size_t>(num_processes()),
          .process_index = static_cast<std::size_t>(process_index()),
          .split_batches = options_.split_batches,
          .even_batches = options_.even_batches,
          .dispatch_batches = options_.dispatch_batches,
          .seed = static_cast<std::uint64_t>(seed),
          .transfer = transfer_,
          .active = {state_, state_->loaders.get()},  // Which holds the world as well.
          .communicator = state_->communicator,
          .before_epoch = generator_synchronization()};
}

// What begins an epoch of a prepared loader; empty without any of rng_types.
std::function<void()> Accelerator::generator_synchronization() const {
  std::vector<c10::Device> devices;
  if (options_.rng_types.torch) devices.push_back(c10::kCPU);
  if (options_.rng_types.cuda && device().is_cuda()) devices.push_back(device());
  if (!use_distributed() || devices.empty()) return {};
  return [state = state_, devices] {
    if (state->uneven_inputs != nullptr) {
      throw std::logic_error(
          "with rng_types a loop over a prepared loader cannot begin inside of "
          "join_uneven_inputs(): it would wait for processes that have ended");
    }
    const OperationScope operation(state->communicator.get(),
                                   "the begin of a loop, with rng_types,");
    synchronize_generators(*state->communicator, state->device, devices);
  };
}

void Accelerator::free_memory() {
  checkpointer_->clear();
  state_->models.release(checkpointer_.get());
  parameter_check_->clear();
  if (scaler_ != nullptr) scaler_->clear();
  accumulation_->set_state({});
  if (device().is_cuda()) at::accelerator::emptyCache();
}

double Accelerator::clip_grad_norm_(const std::vector<torch::Tensor>& parameters, double max_norm,
                                    double norm_type) {
  if (GradScaler* scaler = unscaling()) scaler->unscale_owners(parameters);
  return torch::nn::utils::clip_grad_norm_(distinct(parameters), max_norm, norm_type);
}

void Accelerator::clip_grad_value_(const std::vector<torch::Tensor>& parameters,
                                   double clip_value) {
  if (GradScaler* scaler = unscaling()) scaler->unscale_owners(parameters);
  torch::nn::utils::clip_grad_value_(parameters, clip_value);
}

// One for each scheduler, however often it is prepared.
std::shared_ptr<AnyTorchScheduler> Accelerator::follower_of(
    const std::shared_ptr<torch::optim::LRScheduler>& scheduler) {
  for (const auto& prepared : checkpointer_->schedulers()) {
    auto follower = std::dynamic_pointer_cast<AnyTorchScheduler>(prepared);
    if (follower != nullptr && follower->follows(scheduler.get())) return follower;
  }
  auto follower =
      std::make_shared<AnyTorchScheduler>(scheduler, scheduler_options(), accumulation_, scaler_);
  checkpointer_->add_scheduler(follower);
  return follower;
}

SchedulerOptions Accelerator::scheduler_options() const {
  return {.step_with_optimizer = options_.step_scheduler_with_optimizer,
          .unit = options_.scheduler_unit,
          .split_batches = options_.split_batches,
          .data_parallel_size = num_processes(),
          .adjust_scheduler = options_.gradient_accumulation.adjust_scheduler};
}

}  // namespace accel
