// save_state() and load_state(): all of what a training run must have to go on.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/options.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/staging_memory.h"
#include "runtime/checkpoint/tensor_file.h"
#include "runtime/core/training_state.h"
#include "runtime/optim/checkpointed_scheduler.h"
#include "runtime/precision/grad_scaler.h"
#include "runtime/process/process_state.h"

namespace accel {

// Something of the user's that a checkpoint holds too.
struct CheckpointedObject {
  std::function<void(torch::serialize::OutputArchive&)> save;
  std::function<void(torch::serialize::InputArchive&)> load;
};

class Snapshot;

// Rank 0 writes, in the background, what it has copied; the other ranks only send it the states of
// their random number generators. save(), load() and wait() are collective: each rank throws if one
// of them failed, the others CheckpointError. Not thread-safe.
class Checkpointer {
 public:
  Checkpointer(std::shared_ptr<ProcessState> state, ProjectConfiguration project);
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // What is saved, in the order in which it was added.
  void add_model(std::shared_ptr<torch::nn::Module> module);
  void add_optimizer(std::shared_ptr<torch::optim::Optimizer> optimizer);
  void add_object(CheckpointedObject object) { objects_.push_back(std::move(object)); }
  void add_scheduler(std::shared_ptr<CheckpointedScheduler> scheduler);
  void add_loader(std::shared_ptr<EpochSequence> loader) { loaders_.push_back(std::move(loader)); }
  void set_accumulation(std::shared_ptr<Accumulation> accumulation) {
    accumulation_ = std::move(accumulation);
  }
  // Null without one.
  void set_scaler(std::shared_ptr<GradScaler> scaler) { scaler_ = std::move(scaler); }

  const std::vector<std::shared_ptr<torch::nn::Module>>& models() const { return models_; }
  const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers() const {
    return optimizers_;
  }
  const std::vector<std::shared_ptr<CheckpointedScheduler>>& schedulers() const {
    return schedulers_;
  }
  // Forgets all of these; objects, hooks and the last two stay.
  void clear();

  // Run on every rank, in the order in which they were added.
  void add_save_hook(CheckpointHook hook) { save_hooks_.push_back(std::move(hook)); }
  void add_load_hook(CheckpointHook hook) { load_hooks_.push_back(std::move(hook)); }

  // Returns once the state is copied; an empty folder stands for automatic naming, a symbolic link
  // for that to which it leads. Throws what the save before it ended with, std::invalid_argument
  // for a folder that cannot be used.
  void save(const std::filesystem::path& folder);

  // Returns when the last save is durable, or throws why it is not.
  void wait();

  // An empty folder stands for the newest complete checkpoint of automatic naming; with `required`
  // false there need not be one: then false is returned. Throws CheckpointError if there are some,
  // but all are damaged, or the newest cannot be read or is of another version.
  bool load(const std::filesystem::path& folder, bool required);

  // The number of the next automatic name.
  std::uint64_t next_iteration() const { return project_.iteration; }
  void set_next_iteration(std::uint64_t iteration) {
    number_from(static_cast<std::int64_t>(iteration));
  }

  // For the saves to come: has their memory touched in the background.
  void expect_saves();

  // Runs on rank 0 alone, or on every rank; throws on all ranks if one fails, with that rank's
  // number and reason. One broadcast or one all-gather.
  void on_main(const std::function<void()>& body) const;
  void on_every_rank(const std::function<void()>& body) const;

 private:
  bool is_main() const { return state_->environment.rank == 0; }
  std::filesystem::path automatic_parent() const;
  std::filesystem::path folder_for_next() const;
  void number_from(std::int64_t next);
  std::optional<Claim> claim() const;
  void claim_on(const std::filesystem::path& parent) const;
  void begin(const std::filesystem::path& folder);
  void begin_next();
  TrainingState training_state() const;
  std::vector<NamedTensors> open_window() const;
  std::unique_ptr<Snapshot> snapshot(const TrainingState& state, const torch::Tensor& random_states,
                                     const std::vector<NamedTensors>& gradients);
  void run_hooks(const std::vector<CheckpointHook>& hooks, const std::filesystem::path& folder);
  std::int64_t next_after(const std::filesystem::path& folder) const;
  void read(const std::filesystem::path& folder);
  void read_gradients(const torch::nn::Module& module, const std::filesystem::path& file) const;

  std::shared_ptr<ProcessState> state_;
  ProjectConfiguration project_;
  std::shared_ptr<Accumulation> accumulation_;
  std::shared_ptr<GradScaler> scaler_;
  std::vector<std::shared_ptr<torch::nn::Module>> models_;
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers_;
  std::vector<CheckpointedObject> objects_;
  std::vector<std::shared_ptr<CheckpointedScheduler>> schedulers_;
  std::vector<std::shared_ptr<EpochSequence>> loaders_;
  std::vector<CheckpointHook> save_hooks_, load_hooks_;
  bool is_numbered_ = false;  // The next number is past all that were there at first.
  StagingMemory memory_;
  std::future<void> writing_;
};

}  // namespace accel
