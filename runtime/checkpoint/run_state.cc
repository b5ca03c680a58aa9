#include "runtime/checkpoint/run_state.h"

#include <algorithm>
#include <typeinfo>
#include <utility>

#include "runtime/checkpoint/file_reader.h"
#include "runtime/checkpoint/random_state.h"
#include "runtime/checkpoint/sharded_state.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/checkpoint/window_gradients.h"
#include "runtime/core/checkpoint_layout.h"
#include "runtime/optim/optimizer_class.h"

namespace accel::runtime {
namespace fs = std::filesystem;
namespace {

template <typename T>
void add_once(std::vector<std::shared_ptr<T>>& all, std::shared_ptr<T> one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
}

}  // namespace

TrainingState read_training_state(const fs::path& folder) {
  const fs::path file = folder / kTrainingStateFile;
  return parse_training_state(read_text(file, kMaxTrainingState), file.string());
}

void RunState::add_model(std::shared_ptr<torch::nn::Module> model) {
  add_once(models_, std::move(model));
}

void RunState::add_optimizer(std::shared_ptr<torch::optim::Optimizer> optimizer) {
  add_once(optimizers_, std::move(optimizer));
}

void RunState::add_scheduler(std::shared_ptr<CheckpointedScheduler> scheduler) {
  add_once(schedulers_, std::move(scheduler));
}

void RunState::clear() {
  models_.clear();
  optimizers_.clear();
  schedulers_.clear();
  loaders_.clear();
}

RunState::Gathered RunState::gather() const {
  Gathered gathered;
  const bool is_window_open = accumulation_ != nullptr && !accumulation_->sync_gradients();
  if (is_window_open) {
    for (const auto& model : models_) {
      const auto sharded = find_sharded(*process_, *model);
      gathered.gradients.push_back(sharded != nullptr ? whole_gradients(*sharded)
                                                      : mean_gradients(*model, *process_));
    }
  }
  for (const auto& optimizer : optimizers_) {
    gathered.whole_moments.merge(whole_moments(*optimizer, *process_));
  }
  for (const auto& model : models_) {
    const auto sharded = find_sharded(*process_, *model);
    if (sharded != nullptr) gathered.whole_models.push_back(sharded->begin_whole(false));
  }
  gathered.random_states = random_state(process_->device).unsqueeze(0);
  if (process_->communicator != nullptr) {
    gathered.random_states = process_->communicator->all_gather(gathered.random_states);
  }
  return gathered;
}

TrainingState RunState::training_state(std::uint64_t next_number) const {
  TrainingState state;
  state.next_iteration = next_number;
  state.models = models_.size();
  state.objects = objects_.size();
  for (const auto& optimizer : optimizers_) {
    state.optimizers.push_back(c10::demangle(class_of_state(*optimizer).name()));
  }
  for (const auto& scheduler : schedulers_) state.schedulers.push_back(scheduler->state());
  for (const auto& loader : loaders_) state.loaders.push_back(loader->state());
  if (accumulation_ != nullptr) state.accumulation = accumulation_->state();
  if (scaler_ != nullptr) state.loss_scale = scaler_->state();
  return state;
}

std::unique_ptr<Snapshot> RunState::copy(const Gathered& gathered, std::uint64_t next_number,
                                         StagingMemory& memory) const {
  const TrainingState state = training_state(next_number);
  auto snapshot = std::make_unique<Snapshot>(memory);
  for (std::size_t i = 0; i < models_.size(); ++i) {
    snapshot->add_tensors(model_file(i), without_tied(state_of(*models_[i])));
  }
  for (std::size_t i = 0; i < gathered.gradients.size(); ++i) {
    snapshot->add_tensors(gradients_file(i), gathered.gradients[i]);
  }
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    snapshot->add_optimizer(optimizer_file(i), *optimizers_[i], gathered.whole_moments);
  }
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    snapshot->add_archive(custom_file(i), objects_[i].save);
  }
  for (std::int64_t rank = 0; rank < gathered.random_states.size(0); ++rank) {
    snapshot->add_tensors(
        random_states_file(static_cast<std::size_t>(rank)),
        random_state_tensors(gathered.random_states[rank], process_->device.type()));
  }
  snapshot->add_text(kTrainingStateFile, training_state_text(state));
  snapshot->copy();
  return snapshot;
}

std::size_t RunState::expected_bytes() const {
  std::size_t bytes = 0;
  for (const auto& model : models_) {
    // Each copy starts on its own cache line of 64 bytes. The tensors are not detached, because
    // only rank 0 asks, and any operator on a sharded parameter gathers it from all ranks.
    for (const torch::Tensor& tensor : model->parameters()) bytes += tensor.nbytes() + 64;
    for (const torch::Tensor& tensor : model->buffers()) bytes += tensor.nbytes() + 64;
  }
  for (const auto& optimizer : optimizers_) bytes += accel::runtime::expected_bytes(*optimizer);
  return bytes;
}

void RunState::restore(const fs::path& folder) {
  const TrainingState saved = read_training_state(folder);
  check_same_program(saved, training_state(/*next_number=*/0),
                     (folder / kTrainingStateFile).string());
  std::vector<std::shared_ptr<void>> whole_models;
  for (const auto& model : models_) {
    const auto sharded = find_sharded(*process_, *model);
    if (sharded != nullptr) whole_models.push_back(sharded->begin_whole(/*is_written=*/true));
  }
  std::vector<WeightsLoad> weights;  // Compares all models before the first one is loaded.
  for (std::size_t i = 0; i < models_.size(); ++i) {
    weights.emplace_back(*models_[i], folder / model_file(i), /*strict=*/true);
  }
  for (std::size_t i = 0; i < models_.size(); ++i) {
    weights[i].run();
    load_gradients(*models_[i], folder / gradients_file(i));
  }
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    load_optimizer(folder / optimizer_file(i), process_->device, *optimizers_[i]);
  }
  whole_models.clear();
  for (const auto& model : models_) {
    if (const auto sharded = find_sharded(*process_, *model)) keep_pieces(*sharded, optimizers_);
  }
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    load_archive(folder / custom_file(i), c10::kCPU, objects_[i].load);
  }
  restore_training_state(saved);
  // A rank that the saving run did not have keeps its own random numbers.
  const auto rank = static_cast<std::size_t>(process_->environment.rank);
  const fs::path random_states = folder / random_states_file(rank);
  if (fs::exists(random_states)) restore_random_state(random_states, process_->device);
}

// Runs after the optimizers are loaded, because a scheduler sets their learning rates.
void RunState::restore_training_state(const TrainingState& saved) {
  for (std::size_t i = 0; i < schedulers_.size(); ++i) {
    schedulers_[i]->set_state(saved.schedulers[i]);
  }
  // The position in the epoch: the next loop over the loader skips the samples that were seen.
  for (std::size_t i = 0; i < loaders_.size(); ++i) loaders_[i]->load(saved.loaders[i]);
  if (accumulation_ != nullptr) accumulation_->set_state(saved.accumulation);
  if (scaler_ != nullptr && saved.loss_scale) scaler_->set_state(*saved.loss_scale);
}

}  // namespace accel::runtime
