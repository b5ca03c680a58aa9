#include "runtime/checkpoint/run_state.h"

#include <algorithm>
#include <map>
#include <typeinfo>
#include <utility>

#include "runtime/checkpoint/file_reader.h"
#include "runtime/checkpoint/load_optimizer.h"
#include "runtime/checkpoint/model_parts.h"
#include "runtime/checkpoint/moment_shapes.h"
#include "runtime/checkpoint/parts_load.h"
#include "runtime/checkpoint/random_state.h"
#include "runtime/checkpoint/saved_form.h"
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
      gathered.gradients.push_back(sharded != nullptr ? NamedTensors()
                                                      : mean_gradients(*model, *process_));
    }
  }
  for (const auto& model : models_) {
    const auto sharded = find_sharded(*process_, *model);
    if (sharded == nullptr) continue;
    sharded->expect_savable();
    if (!saves_parts(sharded.get())) continue;
    for (const auto& optimizer : optimizers_) {
      leave_out_moments(*sharded, *optimizer, gathered.left_out);
    }
  }
  gathered.whole = whole_state(is_window_open);
  gathered.random_states = random_state(process_->device).unsqueeze(0);
  if (process_->communicator != nullptr) {
    gathered.random_states = process_->communicator->all_gather(gathered.random_states);
  }
  return gathered;
}

// Lists the whole tensors of sharded models that are not saved in parts.
std::shared_ptr<WholeState> RunState::whole_state(bool is_window_open) const {
  auto whole = std::make_shared<WholeState>();
  for (std::size_t i = 0; i < models_.size(); ++i) {
    const auto sharded = find_sharded(*process_, *models_[i]);
    if (sharded == nullptr || saves_parts(sharded.get())) continue;
    whole->add_parameters(model_file(i), *sharded);
    if (is_window_open) whole->add_gradients(gradients_file(i), *sharded);
  }
  for (const auto& optimizer : optimizers_) {
    whole->begin_optimizer();
    for (const auto& model : models_) {
      const auto sharded = find_sharded(*process_, *model);
      if (sharded == nullptr || saves_parts(sharded.get())) continue;
      whole->add_moments(*optimizer, *sharded);
    }
  }
  return whole;
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

bool RunState::is_in_parts() const {
  return std::ranges::any_of(models_, [&](const auto& model) {
    return saves_parts(find_sharded(*process_, *model).get());
  });
}

std::unique_ptr<Snapshot> RunState::copy(const Gathered& gathered, std::uint64_t next_number,
                                         StagingMemory& memory) const {
  auto snapshot = std::make_unique<Snapshot>(memory);
  if (process_->environment.rank == 0) add_whole_state(gathered, next_number, *snapshot);
  add_parts(*snapshot);
  snapshot->copy();
  return snapshot;
}

void RunState::add_whole_state(const Gathered& gathered, std::uint64_t next_number,
                               Snapshot& snapshot) const {
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (find_sharded(*process_, *models_[i]) != nullptr) continue;
    snapshot.add_tensors(model_file(i), without_tied(state_of(*models_[i])));
    if (i < gathered.gradients.size()) {
      snapshot.add_tensors(gradients_file(i), gathered.gradients[i]);
    }
  }
  gathered.whole->put_files(snapshot);
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    gathered.whole->put_optimizer(i, optimizer_file(i), *optimizers_[i], gathered.left_out,
                                  snapshot);
  }
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    snapshot.add_archive(custom_file(i), objects_[i].save);
  }
  for (std::int64_t rank = 0; rank < gathered.random_states.size(0); ++rank) {
    snapshot.add_tensors(
        random_states_file(static_cast<std::size_t>(rank)),
        random_state_tensors(gathered.random_states[rank], process_->device.type()));
  }
  snapshot.add_text(kTrainingStateFile, training_state_text(training_state(next_number)));
}

void RunState::add_parts(Snapshot& snapshot) const {
  const int rank = process_->environment.rank;
  const bool is_window_open = accumulation_ != nullptr && !accumulation_->sync_gradients();
  for (std::size_t i = 0; i < models_.size(); ++i) {
    const auto sharded = find_sharded(*process_, *models_[i]);
    if (!saves_parts(sharded.get())) continue;
    snapshot.add_parts(model_folder(i), rank, parameter_parts(*sharded));
    if (is_window_open) snapshot.add_parts(gradients_folder(i), rank, gradient_parts(*sharded));
    for (std::size_t j = 0; j < optimizers_.size(); ++j) {
      snapshot.add_parts(moments_folder(j, i), rank, moment_parts(*sharded, *optimizers_[j]));
    }
  }
}

// The tensors are not detached, because only rank 0 may ask, and any operator on a sharded
// parameter gathers it from all ranks.
std::size_t RunState::expected_bytes() const {
  constexpr std::size_t kAlignment = 64;  // Each copy starts on its own cache line.
  const bool is_main = process_->environment.rank == 0;
  std::map<const void*, std::size_t> held;  // By parameter of a unit.
  for (const auto& model : models_) {
    const auto sharded = find_sharded(*process_, *model);
    if (sharded == nullptr) continue;
    for (const auto& unit : sharded->units()) {
      for (std::size_t i = 0; i < unit->size(); ++i) {
        held[unit->parameter(i).tensor.unsafeGetTensorImpl()] =
            saves_parts(sharded.get()) ? unit->piece(i).nbytes() : 0;
      }
    }
  }
  const auto bytes_of = [&](const torch::Tensor& tensor) -> std::size_t {
    const auto part = held.find(tensor.unsafeGetTensorImpl());
    return part != held.end() ? part->second : is_main ? tensor.nbytes() : 0;
  };
  std::size_t bytes = 0;
  for (const auto& model : models_) {
    for (const torch::Tensor& tensor : model->parameters()) bytes += bytes_of(tensor) + kAlignment;
    for (const torch::Tensor& tensor : model->buffers()) bytes += bytes_of(tensor) + kAlignment;
  }
  for (const auto& optimizer : optimizers_) {
    bytes += accel::runtime::expected_bytes(*optimizer, bytes_of);
  }
  return bytes;
}

void RunState::restore(const fs::path& folder) {
  const TrainingState saved = read_training_state(folder);
  check_same_program(saved, training_state(/*next_number=*/0),
                     (folder / kTrainingStateFile).string());
  const SavedForm form(folder);
  restore_tensors(folder, form);
  for (std::size_t i = 0; i < optimizers_.size(); ++i) restore_optimizer(i, folder, form);
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    load_archive(folder / custom_file(i), c10::kCPU, objects_[i].load);
  }
  restore_training_state(saved);
  // A rank that the saving run did not have keeps its own random numbers.
  const auto rank = static_cast<std::size_t>(process_->environment.rank);
  const fs::path random_states = folder / random_states_file(rank);
  if (fs::exists(random_states)) restore_random_state(random_states, process_->device);
}

// A rank reads the parts that it holds, in whatever form the checkpoint is. Unsharded models take
// whole files by a separate path, which is faster (tensor_file.h).
void RunState::restore_tensors(const fs::path& folder, const SavedForm& form) {
  std::vector<WeightsLoad> wholes;
  std::vector<PartsLoad> parts;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    const auto sharded = find_sharded(*process_, *models_[i]);
    const std::string from = model_folder(i), file = model_file(i);
    if (sharded == nullptr && !form.has_parts(from)) {
      wholes.emplace_back(*models_[i], folder / file, /*strict=*/true);
      continue;
    }
    if (sharded != nullptr) sharded->free_all();
    parts.emplace_back(form.open(from, file), state_targets(*models_[i], sharded.get()),
                       (folder / (form.has_parts(from) ? from : file)).string(), /*strict=*/true);
  }
  check_moments(folder, form);
  for (const WeightsLoad& whole : wholes) whole.run();
  for (const PartsLoad& part : parts) part.run();
  for (const auto& model : models_) {
    if (const auto sharded = find_sharded(*process_, *model)) sharded->note_values();
  }
  for (std::size_t i = 0; i < models_.size(); ++i) {
    const auto sharded = find_sharded(*process_, *models_[i]);
    const std::string from = gradients_folder(i), file = gradients_file(i);
    if (!form.has_parts(from) && !form.has_file(file)) {
      gradient_targets(*models_[i], sharded.get(), {});  // Clears them.
      continue;
    }
    if (!form.has_parts(from) && sharded == nullptr) {
      load_gradients(*models_[i], folder / file);
      continue;
    }
    const weights::SavedFolder gradients = form.open(from, file);
    PartsLoad(gradients, gradient_targets(*models_[i], sharded.get(), gradients.saved()),
              (folder / from).string(), /*strict=*/true)
        .run();
  }
}

// Runs before anything is loaded. Runs after the models are compared, because the error of a
// different model is clearer than that of its moments.
void RunState::check_moments(const fs::path& folder, const SavedForm& form) const {
  ParameterNames names;
  for (const auto& model : models_) add_names(*model, names);
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    check_moment_shapes(folder / optimizer_file(i), *optimizers_[i], names);
    for (std::size_t model = 0; model < models_.size(); ++model) {
      const std::string from = moments_folder(i, model);
      if (!form.has_parts(from)) continue;
      check_moment_shapes(form.open(from, /*file=*/"").saved(), (folder / from).string(),
                          *models_[model]);
    }
  }
}

// The archive has the moments that are not saved in parts. The parts are in folders.
void RunState::restore_optimizer(std::size_t i, const fs::path& folder, const SavedForm& form) {
  HeldElements held;
  for (const auto& model : models_) {
    if (const auto sharded = find_sharded(*process_, *model)) held.merge(held_elements(*sharded));
  }
  load_optimizer(folder / optimizer_file(i), process_->device, *optimizers_[i], held);
  for (std::size_t model = 0; model < models_.size(); ++model) {
    const auto sharded = find_sharded(*process_, *models_[model]);
    const std::string from = moments_folder(i, model);
    if (!form.has_parts(from)) continue;
    const weights::SavedFolder moments = form.open(from, /*file=*/"");
    PartsLoad(moments,
              moment_targets(*models_[model], sharded.get(), *optimizers_[i], moments.saved()),
              (folder / from).string(), /*strict=*/true)
        .run();
  }
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
