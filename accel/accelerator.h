// accel::Accelerator: a LibTorch training loop that runs on one process or many.
//
//   #include <torch/torch.h>
//   #include "accel/accelerator.h"
//   #include "accel/data_loader.h"
//
//   accel::Accelerator accelerator;
//   auto [model, optimizer, loader] = accelerator.prepare(net, std::move(sgd), train_loader);
//   for (auto& batch : loader) {
//     optimizer.zero_grad();
//     auto loss = torch::nn::functional::cross_entropy(model(batch.data), batch.target);
//     accelerator.backward(loss);
//     optimizer.step();
//   }
//
// This header includes little of LibTorch, so that it compiles fast. A program includes what it
// uses: torch/torch.h or parts of it, accel/data_loader.h to make loaders, accel/save.h for save().
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "accel/model.h"
#include "accel/options.h"
#include "accel/profile.h"
#include "accel/send_to_device.h"
#include "accel/tracker.h"
#include "runtime/core/weight_shards.h"
#include "runtime/prepare/archive_writer.h"
#include "runtime/prepare/preparation.h"
#include "runtime/process/collectives.h"
#include "runtime/process/process_control.h"
#include "runtime/process/split.h"
#include "runtime/step/accumulation_scope.h"
#include "runtime/step/gradient_sync_scope.h"

namespace accel {

// A holder: copies are the same Accelerator, and all Accelerators of a process share one world. Use
// it from one thread. All ranks must call methods marked "collective" in the same order. Such a
// method throws CommunicationError, which names the missing ranks, if a peer is lost or takes no
// part within AcceleratorOptions::timeout. A call with tensors on a GPU returns once it is queued
// there. If it fails there, the next call throws.
class Accelerator {
 public:
  // Reads rank, world size and addresses from the environment of accel or torchrun (one process
  // without either). Chooses the device, and joins the other ranks. Collective. Throws
  // std::invalid_argument for a bad environment or option; CommunicationError if the world cannot
  // be joined; std::runtime_error if there is a GPU but the CUDA part cannot be loaded.
  explicit Accelerator(const AcceleratorOptions& options = {});

  const AcceleratorOptions& options() const;  // Includes the environment's overrides.
  void set_even_batches(bool even);           // Affects loaders that are prepared later.
  const std::string& project_dir() const;
  const std::string& logging_dir() const;
  MixedPrecision mixed_precision() const { return options().mixed_precision; }

  // ---- Processes --------------------------------------------------------------------------------
  int num_processes() const { return processes().num_processes(); }
  int process_index() const { return processes().process_index(); }
  int local_process_index() const { return processes().local_process_index(); }
  bool is_main_process() const { return process_index() == 0; }
  bool is_local_main_process() const { return local_process_index() == 0; }
  bool is_last_process() const { return process_index() == num_processes() - 1; }
  bool use_distributed() const { return num_processes() > 1; }
  c10::Device device() const { return processes().device(); }

  // Blocks until every rank has called it. Collective: one barrier.
  void wait_for_everyone() const { processes().wait_for_everyone(); }

  // Call `body` first on the main process (of the job, or of each machine), then on the others, for
  // example to download data once. Return its result. If it throws on a first process, all others
  // throw std::runtime_error with its text. Collective: two all-gathers.
  auto main_process_first(auto&& body) const { return processes().main_first(body); }
  auto local_main_process_first(auto&& body) const { return processes().local_main_first(body); }
  // Call `body` on one process, or on one of each machine (local). The other processes return
  // immediately, with std::nullopt for a result. If `body` throws and its process exits, the next
  // collective of the other ranks throws an error with the rank and the text.
  auto on_main_process(auto&& body) const { return processes().on_main(body); }
  auto on_local_main_process(auto&& body) const { return processes().on_local_main(body); }
  auto on_last_process(auto&& body) const { return processes().on_last(body); }
  auto on_process(int index, auto&& body) const { return processes().on(index, body); }
  auto on_local_process(int index, auto&& body) const { return processes().on_local(index, body); }

  // Prints the arguments and a newline to standard output, on each machine's main process.
  void print(const auto&... args) const {
    if (is_local_main_process()) ((std::cout << ... << args) << std::endl);
  }
  // Shows progress through `range` on standard error of each machine's main process: a bar on a
  // terminal, otherwise a line every 30 s. A range without a size has only a count. The range must
  // outlive the loop.
  auto progress(auto& range, std::string label = "") const {
    return processes().progress(range, std::move(label));
  }

  // Returns this process's consecutive part of a tensor's rows or a vector's items, or of each one
  // in a map, pair, tuple or array. Parts differ by at most one item, and longer ones come first.
  // If `apply_padding`, the last item is repeated so that all parts are equally long. Throws
  // std::invalid_argument if the lengths of the values differ, or if there is nothing to split.
  auto split_between_processes(const auto& value, bool apply_padding = false) const {
    return runtime::split_between(num_processes(), process_index(), value, apply_padding);
  }

  // set_trigger() sets a flag of this process. check_trigger() returns true if any rank has set its
  // flag, and clears all flags. Collective: check_trigger(), one all-gather.
  void set_trigger() { processes().set_trigger(); }
  bool check_trigger() { return processes().check_trigger(); }

  // Seeds torch's generators of the CPU and all GPUs. `device_specific` adds process_index().
  void set_seed(std::uint64_t seed, bool device_specific = false) const;
  // Copies rank 0's generators (CPU and device()) to all ranks. Collective: one broadcast.
  void synchronize_rng_states() const { processes().synchronize_rng_states(); }

  // ---- Collectives ------------------------------------------------------------------------------
  // Methods take a tensor or a structure of tensors (accel/nested.h), with the same structure on
  // all ranks, and return the same type. With AcceleratorOptions::debug they throw
  // DistributedOperationError, which shows what each rank brings, if the arguments do not match.

  // Concatenates the ranks' tensors in rank order: N tensors of shape [d0, ...] give [N * d0, ...],
  // and N 0-dim tensors give [N]. Shapes must be equal on all ranks. One process gets `value`
  // unchanged. Collective: one all-gather for each tensor.
  auto gather(const nested_tensors auto& value) const { return collectives().gather(value); }
  // Gathers as gather() does, and cuts off the samples that even_batches repeated at the end of the
  // current loop's loader. A tensor without one row per sample, as pad_across_processes() may
  // return, is not cut. Returns a tuple for several values. Gathers strings as gather_object()
  // does, and cuts them if there is one per sample.
  auto gather_for_metrics(const auto&... values) const {
    return collectives().gather_for_metrics(values...);
  }
  // Reduces elementwise over the ranks (torch::kSum, kMean, kMax; kNone copies) into new tensors. A
  // tensor must have the same shape and dtype on all ranks. Throws std::invalid_argument for the
  // mean of integers over several processes. Collective: one all-reduce for each tensor.
  auto reduce(const nested_tensors auto& value, runtime::Reduction reduction = torch::kSum) const {
    return collectives().reduce(value, reduction);
  }
  // Returns the tensors of `from_process`. Shapes and dtypes must be equal on all ranks. Throws
  // std::invalid_argument for an unknown process. Collective: one broadcast per 25 MiB of a dtype.
  auto broadcast(const nested_tensors auto& value, int from_process = 0) const {
    return collectives().broadcast(value, from_process);
  }
  // Pads each tensor in one dimension to the largest size of all ranks. Leaves tensors without that
  // dimension unchanged. Collective: one all-reduce for all tensors together.
  auto pad_across_processes(const nested_tensors auto& value,
                            const PadOptions& options = {}) const {
    return collectives().pad(value, options);
  }
  // gather_object() returns all ranks' objects (any number and bytes) in rank order: two
  // all-gathers. broadcast_object() throws as broadcast() does: two broadcasts.
  std::vector<std::string> gather_object(const std::vector<std::string>& objects) const;
  std::string broadcast_object(const std::string& object, int from_process = 0) const;

  // ---- Preparing --------------------------------------------------------------------------------

  // Prepares modules (a TORCH_MODULE holder or a shared_ptr), optimizers (an rvalue, or a
  // shared_ptr), Schedulers, LibTorch's schedulers (of a prepared optimizer) and loaders of
  // make_data_loader(). Returns one object, or a tuple in the order given. A module is moved to the
  // device and gets rank 0's parameters and buffers. backward() reduces its gradients until
  // free_memory(), and then while the result is kept. A prepared loader yields this process's
  // share. Other objects, and objects that are already prepared, are returned unchanged.
  //
  // Collective, object by object: for a module one all-gather, and one broadcast per 25 MiB of a
  // dtype (more of both with sharding); for a loader one broadcast. Throws std::invalid_argument if
  // the ranks' modules differ.
  template <typename T>
  auto prepare(T&& object) {
    return preparation().prepare(std::forward<T>(object));
  }
  auto prepare(auto&& first, auto&& second, auto&&... rest) {
    return std::tuple{prepare(std::forward<decltype(first)>(first)),
                      prepare(std::forward<decltype(second)>(second)),
                      prepare(std::forward<decltype(rest)>(rest))...};
  }
  auto prepare_model(const runtime::module_holder auto& model, const PrepareOptions& options = {}) {
    return preparation().prepare_model(model, options);
  }
  // Prints the units of a prepared model, and the memory that each process needs for it, on each
  // machine's main process (docs/sharded.md).
  void print_sharding(const auto& model) const {
    print(model.strategy() == nullptr ? "not sharded: this process holds the whole model"
                                      : model.strategy()->sharding_report());
  }
  // Forgets what was prepared and restarts the window of accumulation, for another training in the
  // same process. A prepared object is destroyed when its last holder is.
  void free_memory();
  // Returns the same loader, but its loops skip their first `steps` batches.
  auto skip_first_batches(const auto& loader, std::size_t steps) const {
    return loader.skipping(steps);
  }
  // Returns the module that prepare() was given.
  auto unwrap_model(const auto& model) const { return model.unwrap(); }

  // ---- The step: runtime/step/training_step.h ---------------------------------------------------

  // Makes the backward pass from a scalar `loss`, divided by the accumulation steps, and scaled in
  // fp16. Gradients of prepared models are then the mean over all ranks. They add up until they are
  // zeroed. Collective for the models that the loss depends on. Throws std::runtime_error that
  // names the parameters without a gradient, unless find_unused_parameters is set;
  // CommunicationError if a peer is lost; std::logic_error if a prepared model ran outside of
  // autocast in mixed precision. After an error, zero the gradients before the next call.
  void backward(const at::Tensor& loss, const BackwardOptions& options = {});

  // Begins a batch of gradient accumulation. The batch lasts as long as the returned scope:
  //
  //   for (auto& batch : loader) {
  //     auto step = accelerator.accumulate(model);
  //     accelerator.backward(loss_of(model(batch.data), batch.target));
  //     optimizer.step();
  //     optimizer.zero_grad();
  //   }
  //
  // backward() divides the loss by the number of batches in the window, and reduces gradients only
  // in the last batch. In the batches before, step() and zero_grad() do nothing. At the end of a
  // short window gradients are scaled up, so that all its batches have the same weight. A further
  // call for other models in the same step of a prepared loader belongs to the same batch.
  [[nodiscard]] runtime::AccumulationScope accumulate(const auto&... models) {
    return begin_batch({runtime::module_of(models.unwrap())...}, {models.strategy()...});
  }
  // While the scope lives, backward() leaves this process's gradients in the models, unreduced.
  [[nodiscard]] runtime::GradientSyncScope no_sync(const auto&... models) {
    return {runtime::GradientSync::kOff, {models.strategy()...}};
  }
  // While the scope lives, backward() reduces the gradients of the models despite accumulate() and
  // no_sync(). It then also reduces the gradients that earlier passes left unreduced.
  [[nodiscard]] runtime::GradientSyncScope trigger_sync_in_backward(const auto&... models) {
    return {runtime::GradientSync::kForced, {models.strategy()...}};
  }

  // Returns true if the current batch ends its window, so that optimizers step, and before the
  // first batch. Set it before backward(), which reduces gradients only if it is true; otherwise
  // step() of several processes throws std::logic_error. The next batch resets it.
  bool sync_gradients() const;
  void set_sync_gradients(bool sync);
  int gradient_accumulation_steps() const;
  void set_gradient_accumulation_steps(int steps);  // >= 1; from the next batch on.

  // Scale the gradients of `parameters` down to a total norm, or clip each element to
  // +-clip_value. clip_grad_norm_() returns the norm before, a 0-dim tensor on their device,
  // whose item() waits for a GPU. The norm is infinite or NaN if fp16 gradients overflowed. In
  // fp16 both first unscale the gradients of the optimizers of `parameters`, and throw
  // std::logic_error unless sync_gradients().
  at::Tensor clip_grad_norm_(const std::vector<at::Tensor>& parameters, double max_norm,
                             double norm_type = 2);
  void clip_grad_value_(const std::vector<at::Tensor>& parameters, double clip_value);

  // While the scope lives, this thread computes in mixed_precision(). Calls of prepared models need
  // no scope, but losses and other computations do.
  [[nodiscard]] runtime::AutocastScope autocast(const AutocastOptions& options = {}) const;
  // In fp16, divide the gradients of all optimizers, or of one, by the loss scale, if that has not
  // been done since backward(). step() and clipping do so first. Throw as clipping does.
  void unscale_gradients();
  template <typename Optim>
  void unscale_gradients(const Optimizer<Optim>& optimizer) {
    unscale(*optimizer);
  }
  // Returns true if any optimizer skipped its last step because gradients had overflowed.
  bool optimizer_step_was_skipped() const;

  // Runs `body`, a training loop in which processes may have different numbers of batches. A
  // process that has left `body` takes part in the others' backward passes with gradients of zero,
  // so gradients remain means over all processes. At the end all processes get the model, optimizer
  // state, schedules, accumulation and loss scale of a process that left `body` last. A loss may
  // depend on one prepared model only. Other collectives in `body` throw std::logic_error. Throws
  // std::invalid_argument for a static_graph or a sharded model, and what `body` throws.
  // Collective: one all-gather before each backward pass, broadcasts at the end.
  void join_uneven_inputs(const std::function<void()>& body, const JoinOptions& options = {});

  // ---- Saving and loading (CheckpointError on failure): docs/life-of-a-checkpoint.md ------------

  // Returns the parameters and buffers of a prepared or plain model, in the order and with the
  // names of Python's state dict. A tied tensor is listed under each name. The tensors share the
  // model's memory, and have no graph. For a sharded model the main process gets copies on the CPU,
  // the others get nothing, and the call is collective: at least one all-gather per unit.
  auto get_state_dict(const auto& model) const {
    return state_dict_of(*runtime::any_module_of(model));
  }

  // Saves what torch::save() takes, or a prepared model or optimizer, for torch::load(). Only the
  // main process writes; the others return immediately. `path` is durable when this returns. After
  // a crash it is the old file or the new one, never a mixture. Needs accel/save.h.
  void save(const auto& object, const std::string& path, const SaveOptions& options = {}) const {
    save_bytes(path, options, runtime::archive_writer(object));
  }

  // Writes the weights of a prepared or plain model to `folder`, on the main process: safetensors
  // files of at most `max_size`, and an index. They are durable when this returns. Tied tensors are
  // written once. Python's load_checkpoint_in_model() can read them. Throws std::invalid_argument
  // for a dtype that the format lacks, or if `folder` is a checkpoint; other ranks may throw
  // CheckpointError with its text. Collective: one broadcast; for a sharded model two, and one more
  // per tensor and rank that holds elements of it.
  void save_model(const auto& model, const std::string& folder,
                  runtime::ByteSize max_size = "10GB") const {
    save_module(*runtime::any_module_of(model), folder, max_size);
  }
  // Reads weights of save_model(), or of Python (a folder, an index or one file), into the model's
  // parameters and buffers, on every process. If `strict`, file and model must have the same names.
  // If names or shapes do not match, nothing is loaded. Collective: one all-gather.
  void load_checkpoint_in_model(const auto& model, const std::string& path,
                                bool strict = true) const {
    load_module(*runtime::any_module_of(model), path, strict);
  }

  // Adds an object to checkpoints. The object must outlive the last save, and have the methods
  // save(torch::serialize::OutputArchive&) and load(torch::serialize::InputArchive&). Only the main
  // process's object is saved, and every process loads it.
  void register_for_checkpointing(auto& object) {
    add_checkpointed([&object](auto& archive) { object.save(archive); },
                     [&object](auto& archive) { object.load(archive); });
  }
  // Register the same hooks on all ranks. A hook is called on every process, with the shared folder
  // that is being written or is about to be read. Files that a save hook adds there become part of
  // the checkpoint. If a hook throws, the save or load fails on all ranks.
  void register_save_state_pre_hook(CheckpointHook hook);
  void register_load_state_pre_hook(CheckpointHook hook);

  // Saves a training run: prepared models, optimizers, schedulers and loaders (epoch, order,
  // samples seen), the open window of accumulation with its gradients, registered objects, and all
  // random number generators. Call it between step() and the next backward(). If `folder` is empty,
  // it is project_dir/checkpoints/checkpoint_N. A symbolic link stands for its target.
  //
  // Returns when the state is copied into memory that is kept for the next save. On a GPU it
  // returns when the copies are queued on the current stream. The checkpoint is then written in the
  // background, and gets its name when it is durable. With StateDictType::kFull, sharded models are
  // not copied, and this returns when their tensors are written, though not durable. Throws
  // ParametersDiffer if the ranks have trained apart; std::invalid_argument if `folder` is empty
  // and automatic naming is off, is a mount point, or exists and is no checkpoint; the error of the
  // previous save. Other ranks may throw CheckpointError with its text instead. Collective: four
  // all-gathers, one more for hooks, two more for kSharded models; one broadcast for the first N of
  // a run that has loaded nothing; in a window one all-reduce per model and gradient; with kFull
  // one broadcast per optimizer, and one per tensor and rank that holds elements of it.
  void save_state(const std::string& folder = "");
  void wait_for_save();  // Blocks until the last save_state() is durable. One all-gather.

  // Loads a checkpoint of any number of processes into the same objects, prepared and registered in
  // the same order. The next loop over a loader yields the rest of the saved epoch. If `folder` is
  // empty, loads the newest complete checkpoint of project_dir. Damaged ones are then skipped and
  // logged to standard error, and the next automatic name follows the last one. Throws if there is
  // none, it does not fit, or all are damaged. Collective: two all-gathers, one broadcast; one more
  // all-gather for hooks.
  void load_state(const std::string& folder = "");
  // Calls load_state() if there is a checkpoint, good or damaged, and returns whether there was
  // one. A program that calls this before `for (std::size_t epoch : loader.epochs(10))` resumes
  // after a restart. Also allocates the memory of the first save, in the background.
  bool resume_from_newest();

  // The N of the next checkpoint that save_state() names. The first save of a run that has loaded
  // nothing skips the numbers that another run has used. A program that sets N must set the same N
  // on all processes, and checkpoint_N must not exist.
  std::uint64_t save_iteration() const;
  void set_save_iteration(std::uint64_t iteration);

  // ---- Reporting --------------------------------------------------------------------------------

  // Starts the trackers of log_with on the main process, with files in
  // logging_dir/project_name. Ends trackers that already run first. Throws
  // std::invalid_argument, on every process, if a tracker needs a folder and none is set.
  // Exceptions of a tracker are logged and do not stop training.
  void init_trackers(const std::string& project_name, const TrackedValues& config = {});
  // Logs values: accelerator.log({{"loss", loss.item<double>()}, {"epoch", epoch}}, step). Throws
  // std::logic_error before init_trackers(), if there are trackers.
  void log(const TrackedValues& values, std::optional<std::int64_t> step = std::nullopt);
  // Throws std::invalid_argument for another name than in log_with; std::logic_error like log().
  Tracker& get_tracker(const std::string& name) const;
  // Records the operators that run on this process while the scope lives: see accel/profile.h.
  [[nodiscard]] Profile profile(ProfileOptions options = {}) const;
  void end_training();  // Waits for the save, then ends the trackers. One all-gather.

 private:
  using Modules = std::vector<std::shared_ptr<torch::nn::Module>>;
  using StateDict = torch::OrderedDict<std::string, at::Tensor>;
  struct Parts;

  const runtime::ProcessControl& processes() const;
  const runtime::Collectives& collectives() const;
  runtime::Preparation& preparation() const;
  runtime::AccumulationScope begin_batch(Modules modules, runtime::Strategies strategies);
  void unscale(const torch::optim::Optimizer& optimizer);
  StateDict state_dict_of(const torch::nn::Module& module) const;
  void save_bytes(const std::string& path, const SaveOptions& options,
                  const std::function<void(std::ostream&)>& write) const;
  void save_module(const torch::nn::Module& module, const std::string& folder,
                   runtime::ByteSize limit) const;
  void load_module(torch::nn::Module& module, const std::string& path, bool strict) const;
  void add_checkpointed(std::function<void(torch::serialize::OutputArchive&)> save,
                        std::function<void(torch::serialize::InputArchive&)> load);

  std::shared_ptr<Parts> parts_;
};

}  // namespace accel
