// accel::Accelerator: a LibTorch training loop that runs on one process or many.
//
//   accel::Accelerator accelerator;
//   auto [model, optimizer, loader] = accelerator.prepare(net, std::move(sgd), train_loader);
//   for (auto& batch : loader) {
//     optimizer.zero_grad();
//     auto loss = torch::nn::functional::cross_entropy(model(batch.data), batch.target);
//     accelerator.backward(loss);
//     optimizer.step();
//   }
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/optim/optimizer.h>
#include <torch/ordered_dict.h>
#include <torch/serialize.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "accel/data_loader.h"
#include "accel/model.h"
#include "accel/optimizer.h"
#include "accel/options.h"
#include "accel/scheduler.h"
#include "accel/send_to_device.h"
#include "runtime/accumulation_scope.h"
#include "runtime/checkpoint/checkpointer.h"
#include "runtime/collectives.h"
#include "runtime/core/accumulation.h"
#include "runtime/core/weight_shards.h"
#include "runtime/parallel/parameter_check.h"
#include "runtime/parallel/sync_scope.h"
#include "runtime/precision/autocast.h"
#include "runtime/precision/grad_scaler.h"
#include "runtime/prepare_traits.h"
#include "runtime/reporting.h"

namespace accel {

// A holder: copies, and further Accelerators of the process, share one world. Methods marked
// "collective" are called by all ranks in the same order, and throw CommunicationError if a peer is
// lost. Use it from one thread. See runtime/process_control.h, runtime/collectives.h and
// runtime/reporting.h for its other methods.
class Accelerator : public Collectives, public Reporting {
 public:
  // Takes rank, world size and addresses from the environment (accel's or torchrun's; none: one
  // process), chooses the device, and joins the other ranks (collective). Throws
  // std::invalid_argument for a bad environment, CommunicationError if the world cannot be joined,
  // std::runtime_error if there is a GPU but the CUDA part cannot be loaded.
  explicit Accelerator(const AcceleratorOptions& options = {});

  // What holds: the options that were given, with what the environment says instead.
  const AcceleratorOptions& options() const { return options_; }
  // For the loaders that are prepared from now on.
  void set_even_batches(bool even) { options_.even_batches = even; }
  // Where checkpoints go, and what trackers write: AcceleratorOptions::project.
  const std::string& project_dir() const { return options_.project.project_dir; }
  const std::string& logging_dir() const { return options_.project.log_folder(); }

  // Modules (a TORCH_MODULE holder or a shared_ptr), optimizers (an rvalue, or a shared_ptr),
  // Schedulers, LibTorch's schedulers (of a prepared optimizer; see accel/scheduler.h)
  // and loaders of make_data_loader(), ready for the world, in the order given: one alone, several
  // as a tuple. A module is moved to the device, parameters and buffers become rank
  // 0's, and backward() reduces its gradients, until free_memory() and whoever keeps the result; a
  // loader yields this process's share. What prepare() has made comes back as it is, as others do.
  //
  // Collective, one object after the other: for a module one all-gather, and the broadcast of its
  // parameters and buffers (one per 25 MiB of a dtype); for a loader one broadcast; nothing for
  // optimizers and schedulers, nor for what prepare() has made. Throws std::invalid_argument if
  // another rank's module is another one.
  template <typename T>
  auto prepare(T&& object) {
    return prepare_one(std::forward<T>(object));
  }
  template <typename First, typename Second, typename... Rest>
  auto prepare(First&& first, Second&& second, Rest&&... rest) {
    return std::tuple{prepare_one(std::forward<First>(first)),
                      prepare_one(std::forward<Second>(second)),
                      prepare_one(std::forward<Rest>(rest))...};
  }

  template <module_holder Holder>
  Model<Holder> prepare_model(const Holder& model, const PrepareOptions& options = {}) {
    return Model<Holder>(model, parallelize(module_of(not_null(model)), options), precision_);
  }

  // Forgets all that was prepared and registered schedulers, and begins to count the steps of
  // accumulation anew, for another training in the same process; what was prepared goes when its
  // holders do.
  void free_memory();

  // `loader`, whose loops pass over their first `steps` batches (accel::skip_first_batches()).
  template <typename Dataset, typename Sampler>
  DataLoader<Dataset, Sampler> skip_first_batches(const DataLoader<Dataset, Sampler>& loader,
                                                  std::size_t steps) const {
    return accel::skip_first_batches(loader, steps);
  }

  // The module that prepare() was given.
  template <typename Holder>
  Holder unwrap_model(const Model<Holder>& model) const {
    return model.unwrap();
  }

  // The backward pass from a scalar `loss`, divided by the accumulation steps, and scaled in fp16.
  // Gradients of prepared models are the mean over all ranks when it returns, and add up until they
  // are zeroed. Collective for the models that the loss depends on. Throws std::runtime_error,
  // naming them, if parameters took no part and find_unused_parameters is off; CommunicationError
  // if a peer is lost; std::logic_error if a prepared model ran outside of autocast. After an error
  // zero the gradients; then backward() may be called again.
  void backward(const torch::Tensor& loss, const BackwardOptions& options = {});

  // Begins a batch of gradient accumulation, which lasts as long as the scope that is returned:
  //
  //   for (auto& batch : loader) {
  //     auto step = accelerator.accumulate(model);
  //     accelerator.backward(loss_of(model(batch.data), batch.target));
  //     optimizer.step();
  //     optimizer.zero_grad();
  //   }
  //
  // backward() divides the loss by the number of batches in the window and reduces gradients only
  // where the window ends; step() and zero_grad() do nothing before that. At the end of a short
  // window the gradients so far are scaled up here, so that all its batches count alike. Others of
  // the models may follow in the same step of a prepared loader: it is one batch.
  template <typename... Holders>
  [[nodiscard]] AccumulationScope accumulate(const Model<Holders>&... models) {
    return begin_batch({module_of(models.unwrap())...}, {models.strategy()...});
  }

  // While the scope lives, backward() leaves this process's own gradients in the models.
  template <typename... Holders>
  [[nodiscard]] SyncScope no_sync(const Model<Holders>&... models) {
    return SyncScope({models.strategy()...});
  }

  // While the scope lives, backward() reduces the gradients of these models, also those that it
  // left there under accumulate() or no_sync() and whatever these say now.
  template <typename... Holders>
  [[nodiscard]] SyncScope trigger_sync_in_backward(const Model<Holders>&... models) {
    return SyncScope({models.strategy()...}, Sync::kForced);
  }

  // Runs `body`, a training loop in which processes may have different numbers of batches: those
  // that have ended take part in the others' backward passes, with gradients of zero, until all
  // have. Gradients are means over all processes throughout, as upstream's. Then parameters,
  // buffers, the state of prepared optimizers, the steps of schedulers and of accumulation and the
  // loss scale become those of a process that ended last. A loss depends on one prepared
  // model; other collectives throw std::logic_error meanwhile. Throws std::invalid_argument for a
  // static_graph, and what `body` throws. Collective: one all-gather before each backward pass, and
  // at the end the broadcast of what was named.
  void join_uneven_inputs(const std::function<void()>& body, const JoinOptions& options = {});

  // Whether the batch begun last ends its window, that is, whether optimizers step. True without
  // accumulate(). Set it before backward(), which then reduces if it is true, up to the next batch;
  // after it step() throws std::logic_error for what was not reduced. Batches weigh as before.
  bool sync_gradients() const { return accumulation_->sync_gradients(); }
  void set_sync_gradients(bool sync);
  // Scales the gradients of `parameters` down to `max_norm` in all, or cuts them to +-clip_value.
  // For after backward(), where sync_gradients(). The first returns the norm before, which is not
  // finite where fp16 gradients overflowed. In fp16 the gradients of these parameters' optimizers
  // are unscaled first; std::logic_error where not sync_gradients().
  double clip_grad_norm_(const std::vector<torch::Tensor>& parameters, double max_norm,
                         double norm_type = 2);
  void clip_grad_value_(const std::vector<torch::Tensor>& parameters, double clip_value);

  MixedPrecision mixed_precision() const { return precision_.precision; }
  // While the scope lives, what this thread computes runs in mixed_precision(), as in the prepared
  // models: for losses and other things outside of them. Nothing in kNo.
  [[nodiscard]] AutocastScope autocast(const AutocastOptions& options = {}) const {
    return AutocastScope(precision_.device, precision_.precision, options);
  }
  // fp16: divides the gradients of all optimizers, or of one, by the scale of the losses, once
  // after each backward pass; steps and clipping do so by themselves. Nothing in other precisions.
  // Throws as clipping does.
  void unscale_gradients();
  template <typename Optim>
  void unscale_gradients(const Optimizer<Optim>& optimizer) {
    if (GradScaler* scaler = unscaling()) scaler->unscale(*optimizer);
  }
  // Whether the last step of any optimizer was skipped because gradients had overflowed.
  bool optimizer_step_was_skipped() const {
    return scaler_ != nullptr && scaler_->any_step_was_skipped();
  }

  int gradient_accumulation_steps() const { return accumulation_->options().num_steps; }
  // From the next batch on. Throws std::invalid_argument if less than 1.
  void set_gradient_accumulation_steps(int steps) { accumulation_->set_num_steps(steps); }

  // The parameters and buffers of a prepared or plain model by their names, in the order and with
  // the names of a state dict of Python's; tied ones under each of theirs. Nothing is copied: the
  // tensors are the model's memory, without a graph, and change as it trains. The same on all
  // processes after a step. Not a collective.
  template <typename Holder>
  torch::OrderedDict<std::string, torch::Tensor> get_state_dict(const Holder& model) const {
    return state_dict_of(*any_module_of(model));
  }

  // Writes what torch::save() takes, or a prepared model or optimizer, for torch::load() to read,
  // from the main process only. `path` is what it was, or all of the new file, which is durable
  // when this returns. Not a collective: the others do not wait. Throws CheckpointError.
  template <typename Object>
  void save(const Object& object, const std::string& path, const SaveOptions& options = {}) const {
    save_object(path, options, [&](std::ostream& out) {
      if constexpr (requires { object.unwrap(); }) {
        torch::save(object.unwrap(), out);
      } else if constexpr (requires(torch::optim::Optimizer * &base) {
                             base = object.ptr().get();
                           }) {
        torch::save(*object, out);
      } else {
        torch::save(object, out);
      }
    });
  }

  // Writes the weights of a prepared or plain model to `folder` as safetensors, in files of at most
  // `max_shard_size` and an index, from the main process; durable when it returns. Tied tensors are
  // there once. Python's load_checkpoint_in_model() and safetensors read them. Throws
  // CheckpointError; std::invalid_argument for a dtype that the format lacks, or if the folder is
  // a checkpoint. Collective: one broadcast.
  template <typename Holder>
  void save_model(const Holder& model, const std::string& folder,
                  ByteSize max_shard_size = "10GB") const {
    save_module(*any_module_of(model), folder, max_shard_size);
  }

  // Reads such weights (a folder, an index or one file) into the parameters and buffers that the
  // model has, on every process. `strict`: the names on both sides are the same. Throws
  // CheckpointError; if names or shapes do not fit, nothing is loaded. Collective: one all-gather.
  template <typename Holder>
  void load_checkpoint_in_model(const Holder& model, const std::string& path,
                                bool strict = true) const {
    load_module(*any_module_of(model), path, strict);
  }

  // An object with save(torch::serialize::OutputArchive&) and
  // load(torch::serialize::InputArchive&), as LibTorch's modules, optimizers and samplers have
  // them, that checkpoints hold too. The main process's is saved, and every process loads it. It
  // outlives the last save.
  template <typename Object>
  void register_for_checkpointing(Object& object) {
    checkpointer_->add_object({[&object](auto& archive) { object.save(archive); },
                               [&object](auto& archive) { object.load(archive); }});
  }

  // Called on every process with the folder that is being written, or is about to be read, so that
  // files of one's own may be put there, but not under names of its own files, or taken from there;
  // they are part of the checkpoint, and on the disk as soon as the rest. The processes share that
  // folder. Register the same ones everywhere. If one throws, save_state() or load_state() fails on
  // all ranks.
  void register_save_state_pre_hook(CheckpointHook hook);
  void register_load_state_pre_hook(CheckpointHook hook);

  // Saves all of a training run: prepared models, optimizers, schedulers and loaders (which epoch,
  // in what order, and which samples of it were seen), where in a window of gradient accumulation
  // it is, with the gradients so far, registered objects, and every process's random number
  // generators. Between an optimizer's step() and the next backward(). Without a folder it is
  // project_dir/checkpoints/checkpoint_N, the next N. Returns once the state is copied, into memory
  // that is kept for the next save; then it is written in the background, and takes its name when
  // all of it is durable. Throws what the save before it failed with, as wait_for_save() does;
  // ParametersDiffer on all ranks if they have trained apart; CheckpointError, on all ranks, with
  // the file and the system's reason; std::invalid_argument if the folder is a mount point, or
  // there and no checkpoint; a symbolic link stands for where it leads. Collective: two broadcasts,
  // two all-gathers; one more for hooks; one broadcast for the first N of a run that has loaded
  // nothing; inside a window, two all-reduces for each model and one per parameter.
  void save_state(const std::string& folder = "");

  // Returns when the last save_state() is durable, or throws CheckpointError. One broadcast.
  void wait_for_save();

  // Loads a checkpoint that any number of processes has saved, into the same objects prepared and
  // registered in the same order. The next loop over a loader then yields what is left of the epoch
  // that was saved. Without a folder: the newest complete one of project_dir; torn or corrupt ones
  // are named on standard error and passed over. The next automatic name follows the last one in
  // project_dir. Throws CheckpointError that names the file if there is none, it does not fit or
  // cannot be read, or all are damaged. Collective: two broadcasts, one all-gather; one more for
  // hooks.
  void load_state(const std::string& folder = "");

  // load_state(), if there is a checkpoint, good or not; returns whether there was. So a program
  // that is started again goes on by itself; the memory for its first save is touched meanwhile:
  //
  //   accelerator.resume_from_newest();
  //   for (std::size_t epoch : loader.epochs(10)) {
  //     for (auto& batch : loader) {
  //       ...
  //       if (++step % 1000 == 0) accelerator.save_state();
  //     }
  //   }
  bool resume_from_newest();

  // The N of the next checkpoint that save_state() names by itself; the first save of a run that
  // has loaded nothing takes a higher one where another run's checkpoints are in the way. Setting
  // it, to the same number on every process, makes the next save that one, which must not be there.
  std::uint64_t save_iteration() const { return checkpointer_->next_iteration(); }
  void set_save_iteration(std::uint64_t iteration) { checkpointer_->set_next_iteration(iteration); }

  // The end of a run: wait_for_save(), and the trackers end. Collective: one broadcast.
  void end_training();

 private:
  template <typename T>
  auto prepare_one(T&& object) {
    using Object = std::remove_cvref_t<T>;
    refuse_what_cannot_be_prepared<T>();
    if constexpr (accel_loader<Object>) {
      if (object.is_prepared()) return Object(object);
      Object loader = object.sharded(bind_loader());
      checkpointer_->add_loader(loader.progress());
      return loader;
    } else if constexpr (std::same_as<Object, Scheduler>) {
      Scheduler scheduler(object);
      if (scheduler.follow(scheduler_options(), accumulation_, scaler_)) {
        checkpointer_->add_scheduler(scheduler.prepared());
      }
      return scheduler;
    } else if constexpr (module_holder<Object>) {
      return prepare_model(object);
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

  AccumulationScope begin_batch(std::vector<std::shared_ptr<torch::nn::Module>> modules,
                                std::vector<std::shared_ptr<ParallelStrategy>> strategies);
  template <typename Optim>
  Optimizer<Optim> stepped(std::shared_ptr<Optim> optimizer) {
    checkpointer_->add_optimizer(not_null(optimizer));
    parameter_check_->add_optimizer(optimizer);
    auto gradients = gradients_of(optimizer);
    return Optimizer<Optim>(std::move(optimizer), accumulation_, scaler_, std::move(gradients));
  }
  template <typename Torch>
  TorchScheduler<Torch> follower(std::shared_ptr<Torch> scheduler) {
    auto follower = follower_of(not_null(scheduler));
    return {std::move(scheduler), std::move(follower)};
  }
  std::shared_ptr<AnyTorchScheduler> follower_of(
      const std::shared_ptr<torch::optim::LRScheduler>& scheduler);
  // The scaler, where gradients can be unscaled; null without one.
  GradScaler* unscaling() const;
  torch::Tensor scaled(const torch::Tensor& loss, bool reduced);
  std::shared_ptr<OptimizerGradients> gradients_of(
      const std::shared_ptr<torch::optim::Optimizer>& optimizer);
  void expect_own_batch(const torch::Tensor& loss) const;
  void expect_autocast(const torch::Tensor& loss) const;
  static torch::OrderedDict<std::string, torch::Tensor> state_dict_of(
      const torch::nn::Module& module);
  void save_object(const std::string& path, const SaveOptions& options,
                   const std::function<void(std::ostream&)>& write) const;
  void save_module(const torch::nn::Module& module, const std::string& folder,
                   ByteSize max_shard_size) const;
  void load_module(torch::nn::Module& module, const std::string& path, bool strict) const;

  LoaderContext bind_loader();
  std::function<void()> generator_synchronization() const;
  SchedulerOptions scheduler_options() const;
  std::shared_ptr<ParallelStrategy> parallelize(std::shared_ptr<torch::nn::Module> module,
                                                const PrepareOptions& options);

  AcceleratorOptions options_;
  // Adopts the steps that process `rank` made. Collective.
  void copy_progress_from(int rank);

  ForwardPrecision precision_;
  std::shared_ptr<GradScaler> scaler_;              // Null but in fp16.
  std::shared_ptr<const DeviceTransfer> transfer_;  // Of all loaders: one stream for copies.
  std::shared_ptr<Accumulation> accumulation_;
  std::shared_ptr<Checkpointer> checkpointer_;
  std::shared_ptr<ParameterCheck> parameter_check_;
};

}  // namespace accel
