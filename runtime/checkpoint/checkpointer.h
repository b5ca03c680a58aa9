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

#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/core/project_configuration.h"
#include "runtime/process_state.h"

namespace accel {

// Something of the user's that a checkpoint holds too.
struct CheckpointedObject {
  std::function<void(torch::serialize::OutputArchive&)> save;
  std::function<void(torch::serialize::InputArchive&)> load;
};

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

  // Returns once the state is copied; an empty folder stands for automatic naming. Throws what the
  // save before it ended with, std::invalid_argument for a folder that cannot be used.
  void save(const std::filesystem::path& folder);

  // Returns when the last save is durable, or throws why it is not.
  void wait();

  // An empty folder stands for the newest complete checkpoint of automatic naming; with `required`
  // false there need not be one: then false is returned.
  bool load(const std::filesystem::path& folder, bool required);

  // Runs on rank 0 alone, or on every rank; throws on all ranks if one fails. One broadcast or one
  // all-gather.
  void on_main(const std::function<void()>& body) const;
  void on_every_rank(const std::function<void()>& body) const;

 private:
  struct Snapshot;

  bool is_main() const { return state_->environment.rank == 0; }
  std::filesystem::path automatic_parent() const;
  std::optional<Claim> claim_on(const std::filesystem::path& parent);
  std::unique_ptr<Snapshot> snapshot(const torch::Tensor& random_states);
  void start_writing(std::filesystem::path folder, const torch::Tensor& random_states);
  void read(const std::filesystem::path& folder);

  std::shared_ptr<ProcessState> state_;
  ProjectConfiguration project_;
  std::vector<std::shared_ptr<torch::nn::Module>> models_;
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers_;
  std::vector<CheckpointedObject> objects_;
  torch::Tensor memory_;  // Of the copies; kept from save to save, since fresh memory is slow.
  std::future<void> writing_;
};

}  // namespace accel
