// Accelerator::prepare(): prepares modules, optimizers, schedulers and loaders for training.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "accel/model.h"
#include "accel/optimizer.h"
#include "accel/options.h"
#include "accel/scheduler.h"
#include "runtime/prepare/prepare_traits.h"

namespace accel::runtime {

class DeviceTransfer;
class EpochSequence;
class InputsOnHost;
class ProcessControl;
class RunState;
class TrainingStep;
struct LoaderContext;
struct ProcessState;

// The part of an Accelerator that prepares objects. It registers the objects with the step, which
// reduces gradients, and with checkpoints. Not thread-safe.
class Preparation {
 public:
  // The references must outlive this object.
  Preparation(std::shared_ptr<ProcessState> process, const ProcessControl& processes,
              const AcceleratorOptions& options, TrainingStep& step, RunState& run);

  // Does what Accelerator::prepare() says. Collective for modules and loaders.
  template <typename T>
  auto prepare(T&& object) {
    using Object = std::remove_cvref_t<T>;
    refuse_what_cannot_be_prepared<T>();
    if constexpr (accel_loader<Object>) {
      if (object.is_prepared()) return Object(object);
      Object loader = object.sharded(*bind_loader());
      add_loader(loader.sequence());
      return loader;
    } else if constexpr (std::same_as<Object, Scheduler>) {
      Scheduler scheduler(object);
      bind(scheduler);
      return scheduler;
    } else if constexpr (module_holder<Object>) {
      return prepare_model(object, {});
    } else if constexpr (torch_scheduler<Object>) {
      return follower(std::make_shared<Object>(std::forward<T>(object)));
    } else if constexpr (torch_scheduler_pointer<Object>) {
      return follower(std::shared_ptr<typename Object::element_type>(std::forward<T>(object)));
    } else if constexpr (std::derived_from<Object, torch::optim::Optimizer>) {
      return stepped(std::make_shared<Object>(std::move(object)));
    } else if constexpr (optimizer_pointer<Object>) {
      return stepped(std::shared_ptr<typename Object::element_type>(std::forward<T>(object)));
    } else {
      return Object(std::forward<T>(object));
    }
  }

  template <module_holder Holder>
  Model<Holder> prepare_model(const Holder& model, const PrepareOptions& options) {
    return Model<Holder>(model, parallelize(module_of(not_null(model)), options), precision_);
  }

  const ForwardPrecision& precision() const { return precision_; }

 private:
  template <typename Optim>
  Optimizer<Optim> stepped(std::shared_ptr<Optim> optimizer) {
    auto step = add_optimizer(not_null(optimizer));
    return Optimizer<Optim>(std::move(optimizer), std::move(step));
  }
  template <typename Torch>
  TorchScheduler<Torch> follower(std::shared_ptr<Torch> scheduler) {
    auto follower = follower_of(not_null(scheduler));
    return {std::move(scheduler), std::move(follower)};
  }

  std::shared_ptr<ParallelStrategy> parallelize(std::shared_ptr<torch::nn::Module> module,
                                                const PrepareOptions& options);
  OptimizerStep add_optimizer(const std::shared_ptr<torch::optim::Optimizer>& optimizer);
  void bind(Scheduler& scheduler);
  std::shared_ptr<AnyTorchScheduler> follower_of(
      const std::shared_ptr<torch::optim::LRScheduler>& scheduler);
  SchedulerOptions scheduler_options() const;
  // Collective: one broadcast.
  std::shared_ptr<const LoaderContext> bind_loader();
  void add_loader(const std::shared_ptr<EpochSequence>& epochs);
  std::function<void()> generator_synchronization() const;

  const std::shared_ptr<ProcessState> process_;
  const ProcessControl& processes_;
  const AcceleratorOptions& options_;
  TrainingStep& step_;
  RunState& run_;
  const ForwardPrecision precision_;
  const std::shared_ptr<const DeviceTransfer> transfer_;  // All loaders share its copy stream.
  // For sharding.activation_checkpointing_offload; otherwise null.
  const std::shared_ptr<const InputsOnHost> inputs_on_host_;
};

}  // namespace accel::runtime
