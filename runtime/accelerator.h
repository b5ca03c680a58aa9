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

#include <torch/enum.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/optim/optimizer.h>
#include <torch/optim/schedulers/lr_scheduler.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/checkpoint/checkpointer.h"
#include "runtime/core/accumulation.h"
#include "runtime/core/weight_shards.h"
#include "runtime/core/call_check.h"
#include "runtime/data/data_loader.h"
#include "runtime/model.h"
#include "runtime/nested.h"
#include "runtime/optim/optimizer.h"
#include "runtime/optim/scheduler.h"
#include "runtime/parallel/sync_scope.h"
#include "runtime/prepare_traits.h"
#include "runtime/process_state.h"
#include "runtime/progress.h"
#include "runtime/split.h"

namespace accel {

struct AcceleratorOptions {
  // Stay on the CPU even where there is a GPU. `accel launch --cpu` says the same for the whole
  // job.
  bool cpu = false;
  // batch_size of a prepared loader counts over all processes instead of per process.
  bool split_batches = false;
  // Every process gets the same number of equal batches; the first samples are repeated to fill the
  // last.
  bool even_batches = true;
  // Rank 0 reads prepared loaders for all and scatters each process's samples; the last batch is
  // then divided instead of filled up. Unset: streams whose batches are tensors.
  std::optional<bool> dispatch_batches;
  // Prepared loaders shuffle epoch e with the seed e + data_seed, so that orders are those of
  // Python's SeedableRandomSampler. Without data_seed, rank 0's initial seed of torch's CPU
  // generator counts; data_seed alone implies use_seedable_sampler. Else prepare() draws a seed
  // from that generator.
  bool use_seedable_sampler = false;
  std::optional<std::uint64_t> data_seed;
  // Where the device is a GPU, prepared loaders bring batches to it through pinned memory, and copy
  // them in a stream of their own while the batch before is processed.
  bool pin_memory = true;
  bool non_blocking = true;
  // How many batches make one optimizer step. ACCELERATE_GRADIENT_ACCUMULATION_STEPS goes before
  // num_steps.
  GradientAccumulation gradient_accumulation = {};
  // Whether schedulers follow the optimizer, and what their lengths are counted in.
  bool step_scheduler_with_optimizer = true;
  SchedulerUnit scheduler_unit = SchedulerUnit::kBatches;
  // Allow parameters that take no part in a loss.
  bool find_unused_parameters = false;
  // Where save_state() and load_state() have checkpoints that they name by themselves.
  ProjectConfiguration project = {};
  // Compare what the ranks bring to each collective first, which costs two more of them, and throw
  // DistributedOperationError instead of hanging. ACCELERATE_DEBUG_MODE says so too.
  bool debug = false;
  // How long to wait for a peer, in joining the world and in each collective.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
};

// torch::kSum, torch::kMean, torch::kMax, or torch::kNone.
using Reduction = std::variant<torch::enumtype::kSum, torch::enumtype::kMean, torch::enumtype::kMax,
                               torch::enumtype::kNone>;

// What pad_across_processes() does.
struct PadOptions {
  std::int64_t dim = 0;  // Negative: from the last.
  double pad_index = 0;  // The value that is filled in.
  bool pad_first = false;
};

// A holder: copies, and further Accelerators of the process, share one world. Methods marked
// "collective" are called by all ranks in the same order, and throw CommunicationError if a peer is
// lost. Use it from one thread.
class Accelerator {
 public:
  // Takes rank, world size and addresses from the environment (accel's or torchrun's; none: one
  // process), chooses the device, and joins the other ranks (collective). Throws
  // std::invalid_argument for a bad environment, CommunicationError if the world cannot be joined,
  // std::runtime_error if there is a GPU but the CUDA part cannot be loaded.
  explicit Accelerator(const AcceleratorOptions& options = {});

  int num_processes() const { return state_->environment.world_size; }
  int process_index() const { return state_->environment.rank; }
  int local_process_index() const { return state_->environment.local_rank; }
  bool is_main_process() const { return process_index() == 0; }
  bool is_local_main_process() const { return local_process_index() == 0; }
  bool is_last_process() const { return process_index() == num_processes() - 1; }
  bool use_distributed() const { return num_processes() > 1; }
  c10::Device device() const { return state_->device; }

  // Modules (a TORCH_MODULE holder or a shared_ptr), optimizers (an rvalue, or a shared_ptr),
  // Schedulers and loaders of make_data_loader(), ready for the world, in the order given: one
  // alone, several as a tuple. A module is moved to the device, parameters and buffers become rank
  // 0's, and its gradients will be reduced by backward(); a loader yields this process's share.
  // Objects that are prepared already, and any others, come back as they are. Collective.
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

  // The backward pass from a scalar `loss`, divided by the accumulation steps. Gradients of
  // prepared models are the mean over all ranks when it returns, and add up until they are zeroed.
  // Collective for the models that the loss depends on. Throws std::runtime_error, naming them, if
  // parameters took no part and find_unused_parameters is off; what LibTorch or Gloo throw if a
  // peer is lost meanwhile.
  void backward(const torch::Tensor& loss);

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
  // window the models' gradients so far are scaled up here, so that all its batches count alike.
  template <typename... Holders>
  [[nodiscard]] SyncScope accumulate(const Model<Holders>&... models) {
    return begin_step({module_of(models.unwrap())...}, {models.strategy()...});
  }

  // While the scope lives, backward() leaves this process's own gradients in the models.
  template <typename... Holders>
  [[nodiscard]] SyncScope no_sync(const Model<Holders>&... models) {
    return SyncScope({models.strategy()...});
  }

  // Whether the batch begun last ends its window, that is, whether optimizers step. True without
  // accumulate().
  bool sync_gradients() const { return accumulation_->sync_gradients(); }
  // Scales the gradients of `parameters` down to `max_norm` in all, or cuts them to +-clip_value.
  // For after backward(), where sync_gradients(). The first returns the norm before.
  double clip_grad_norm_(const std::vector<torch::Tensor>& parameters, double max_norm,
                         double norm_type = 2);
  void clip_grad_value_(const std::vector<torch::Tensor>& parameters, double clip_value);

  int gradient_accumulation_steps() const { return accumulation_->options().num_steps; }

  // The collectives below take a tensor or a structure of tensors, as runtime/nested.h says, built
  // alike on all ranks, and give one of the same type. With `debug` they throw
  // DistributedOperationError, with a table of what each rank brings, where the ranks do not fit
  // together.

  // [d0, ...] on each rank gives [N * d0, ...] in rank order; 0-dim gives [N]. The shape is the
  // same on all ranks. One process: unchanged. Collective: one all-gather for each tensor.
  template <nested_tensors T>
  T gather(const T& value) const {
    return with_tensors(value, gather_each(tensors_of(value)));
  }

  // gather() without the samples that even_batches repeated at the end of the loader that is being
  // iterated, so that each sample counts once. Only tensors with one row per sample are cut; a
  // 0-dim tensor is a number per rank.
  torch::Tensor gather_for_metrics(const torch::Tensor& tensor) const;
  template <typename... Tensors>
  requires(sizeof...(Tensors) > 1) auto gather_for_metrics(const Tensors&... tensors) const {
    return std::tuple{gather_for_metrics(tensors)...};
  }

  template <tensor_structure T>
  T gather_for_metrics(const T& value) const {
    return map_tensors(value, [&](const torch::Tensor& t) { return gather_for_metrics(t); });
  }

  // Elementwise over the ranks, of tensors of one shape and dtype; the results are new tensors on
  // each rank. kNone copies. Throws std::invalid_argument for the mean of integers over several
  // processes. Collective: one all-reduce for each tensor.
  template <nested_tensors T>
  T reduce(const T& value, Reduction reduction = torch::kSum) const {
    return with_tensors(value, reduce_each(tensors_of(value), reduction));
  }

  // Copies of `from_process`'s tensors, of one shape and dtype on all ranks. Collective: one
  // broadcast per 25 MiB of a dtype.
  template <nested_tensors T>
  T broadcast(const T& value, int from_process = 0) const {
    return with_tensors(value, broadcast_each(tensors_of(value), from_process));
  }

  // Each tensor made as long in one dimension as the longest of all ranks; a tensor without that
  // dimension stays. Collective: one all-reduce in all.
  template <nested_tensors T>
  T pad_across_processes(const T& value, const PadOptions& options = {}) const {
    return with_tensors(value, pad_each(tensors_of(value), options));
  }

  // This process's part of the rows of a tensor, the items of a vector, or of several of one length
  // in a map, pair or tuple: consecutive parts, longer ones first. With `apply_padding` the last
  // item is repeated until all parts are as long. Throws std::invalid_argument if lengths differ.
  // Not a collective.
  template <typename T>
  T split_between_processes(const T& value, bool apply_padding = false) const {
    if (!use_distributed()) return value;
    return nested_internal::part_of(
        value, share_of(common_length(value), static_cast<std::size_t>(num_processes()),
                        static_cast<std::size_t>(process_index()), apply_padding));
  }

  // All ranks' objects, any bytes and any number of them, in rank order. Collective: two
  // all-gathers.
  std::vector<std::string> gather_object(const std::vector<std::string>& objects) const;
  // `from_process`'s object. Collective: two broadcasts.
  std::string broadcast_object(const std::string& object, int from_process = 0) const;

  // A flag that any rank raises and all ranks see: check_trigger() returns whether one of them has,
  // and lowers it everywhere. Collective: the check, one all-gather.
  void set_trigger();
  bool check_trigger();

  // Returns when every rank has called it. Collective.
  void wait_for_everyone() const;

  // Writes the weights of a prepared or plain model to `folder` as safetensors, in files of at most
  // `max_shard_size` and an index, from the main process; durable when it returns. Tied tensors are
  // there once. Python's load_checkpoint_in_model() and safetensors read them. Throws
  // CheckpointError, std::invalid_argument for a dtype that the format lacks. Collective.
  template <typename Holder>
  void save_model(const Holder& model, const std::string& folder,
                  ByteSize max_shard_size = "10GB") const {
    save_module(*any_module_of(model), folder, max_shard_size);
  }

  // Reads such weights (a folder, an index or one file) into the parameters and buffers that the
  // model has, on every process. `strict`: the names on both sides are the same. Throws
  // CheckpointError.
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

  // Saves prepared models and optimizers, registered objects and every process's random number
  // generators. Without a folder it is project_dir/checkpoints/checkpoint_N, the next N. Returns
  // once the state is copied, into memory that is kept for the next save; then it is written in the
  // background, and takes its name when all of it is durable. Throws what the save before it failed
  // with, as wait_for_save() does; std::invalid_argument if the folder is there and is no
  // checkpoint. Collective: one all-gather, one broadcast.
  void save_state(const std::string& folder = "");

  // Returns when the last save_state() is durable. Throws CheckpointError if it is not. Collective:
  // one broadcast.
  void wait_for_save();

  // Loads a checkpoint that any number of processes has saved, into the same objects prepared and
  // registered in the same order. Without a folder: the newest complete one of project_dir; torn or
  // corrupt ones are named on standard error and passed over. The next automatic name follows it.
  // Throws CheckpointError that names the file if there is none or it does not fit. Collective.
  void load_state(const std::string& folder = "");

  // load_state(), if there is a checkpoint: for the start of a program that may have been
  // restarted. Returns whether there was one.
  bool resume_from_newest();

  // Writes the arguments and a line end on standard output, on the main process of each machine
  // only.
  template <typename... Args>
  void print(const Args&... args) const {
    if (is_local_main_process()) ((std::cout << ... << args) << std::endl);
  }

  // Calls `body` on one process only, without waiting for it on the others.
  template <typename Body>
  void on_main_process(Body&& body) const {
    if (is_main_process()) std::forward<Body>(body)();
  }
  template <typename Body>
  void on_local_main_process(Body&& body) const {
    if (is_local_main_process()) std::forward<Body>(body)();
  }
  template <typename Body>
  void on_last_process(Body&& body) const {
    if (is_last_process()) std::forward<Body>(body)();
  }

  // `range` with a progress bar on standard error of each machine's main process; in a log file, a
  // line every 30 s. `range` has size() and outlives the loop.
  template <typename Range>
  ProgressRange<Range> progress(Range& range, std::string label = "") const {
    std::unique_ptr<ProgressMeter> meter;
    if (is_local_main_process()) {
      meter = std::make_unique<ProgressMeter>(std::move(label), range.size(),
                                              state_->environment.terminal_columns);
    }
    return ProgressRange<Range>(range, std::move(meter));
  }

 private:
  template <typename T>
  auto prepare_one(T&& object) {
    using Object = std::remove_cvref_t<T>;
    static_assert(
        !torch_loader<Object>,
        "torch's loaders hide their dataset and sampler: make it with accel::make_data_loader()");
    static_assert(!std::derived_from<Object, torch::optim::LRScheduler>,
                  "torch's schedulers know nothing of the processes: make an accel::Scheduler");
    if constexpr (accel_loader<Object>) {
      return object.is_prepared() ? Object(object) : Object(object.bound(bind_loader()));
    } else if constexpr (std::same_as<Object, Scheduler>) {
      Scheduler scheduler(object);
      scheduler.bind(scheduler_options(), accumulation_);
      return scheduler;
    } else if constexpr (module_holder<Object>) {
      return Model<Object>(object, parallelize(module_of(object)));
    } else if constexpr (std::derived_from<Object, torch::optim::Optimizer>) {
      static_assert(!std::is_lvalue_reference_v<T>,
                    "an optimizer cannot be copied: prepare(std::move(optimizer))");
      return Optimizer<Object>(checkpointed(std::make_shared<Object>(std::move(object))),
                               accumulation_);
    } else if constexpr (optimizer_pointer<Object>) {
      return Optimizer<typename Object::element_type>(checkpointed(Object(object)), accumulation_);
    } else {
      return Object(std::forward<T>(object));
    }
  }

  void check_call(const char* operation, const std::vector<torch::Tensor>& tensors = {},
                  std::optional<std::int64_t> free_dimension = {}) const;
  std::vector<torch::Tensor> gather_each(std::vector<torch::Tensor> tensors) const;
  std::vector<torch::Tensor> reduce_each(std::vector<torch::Tensor> tensors,
                                         Reduction reduction) const;
  std::vector<torch::Tensor> broadcast_each(std::vector<torch::Tensor> tensors,
                                            int from_process) const;
  std::vector<torch::Tensor> pad_each(std::vector<torch::Tensor> tensors,
                                      const PadOptions& options) const;
  torch::Tensor reduce_one(const torch::Tensor& tensor, Reduction reduction) const;

  SyncScope begin_step(const std::vector<std::shared_ptr<torch::nn::Module>>& modules,
                       std::vector<std::shared_ptr<ParallelStrategy>> strategies);
  template <typename Optim>
  std::shared_ptr<Optim> checkpointed(std::shared_ptr<Optim> optimizer) {
    checkpointer_->add_optimizer(optimizer);
    return optimizer;
  }
  template <typename Holder>
  static std::shared_ptr<torch::nn::Module> any_module_of(const Holder& model) {
    if constexpr (requires { model.unwrap(); }) {
      return module_of(model.unwrap());
    } else {
      return module_of(model);
    }
  }
  void save_module(const torch::nn::Module& module, const std::string& folder,
                   ByteSize max_shard_size) const;
  void load_module(torch::nn::Module& module, const std::string& path, bool strict) const;

  LoaderBinding bind_loader();
  SchedulerOptions scheduler_options() const;
  std::shared_ptr<ParallelStrategy> parallelize(std::shared_ptr<torch::nn::Module> module);

  AcceleratorOptions options_;
  std::shared_ptr<ProcessState> state_;
  std::shared_ptr<Accumulation> accumulation_;
  std::shared_ptr<Checkpointer> checkpointer_;
};

}  // namespace accel
