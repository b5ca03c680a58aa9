#include "runtime/checkpoint/checkpointer.h"

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <typeinfo>

#include "accel/errors.h"
#include "runtime/checkpoint/file_reader.h"
#include "runtime/checkpoint/random_state.h"
#include "runtime/checkpoint/snapshot.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/core/checkpoint_layout.h"
#include "runtime/error_text.h"

namespace accel {
namespace fs = std::filesystem;
namespace {

template <typename T>
void add_once(std::vector<std::shared_ptr<T>>& all, std::shared_ptr<T> one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
}

// The parameters of a module that have gradients to be saved, each once.
NamedTensors trained(const torch::nn::Module& module) {
  NamedTensors parameters;
  for (const auto& item : module.named_parameters()) {
    if (item.value().requires_grad()) parameters.emplace_back(item.key(), item.value());
  }
  return without_tied(parameters);
}

}  // namespace

Checkpointer::Checkpointer(std::shared_ptr<ProcessState> state, ProjectConfiguration project)
    : state_(std::move(state)), project_(std::move(project)) {
  if (project_.total_limit == std::size_t{0}) {
    throw std::invalid_argument("total_limit of 0 keeps no checkpoint: at least 1, or none");
  }
}

Checkpointer::~Checkpointer() {
  try {
    if (writing_.valid()) writing_.get();
  } catch (const std::exception& error) {
    std::cerr << "accel: the last checkpoint was not saved: " << error_text(error) << std::endl;
  }
}

void Checkpointer::add_model(std::shared_ptr<torch::nn::Module> module) {
  add_once(models_, std::move(module));
}

void Checkpointer::add_scheduler(std::shared_ptr<CheckpointedScheduler> scheduler) {
  add_once(schedulers_, std::move(scheduler));
}

void Checkpointer::add_optimizer(std::shared_ptr<torch::optim::Optimizer> optimizer) {
  add_once(optimizers_, std::move(optimizer));
}

void Checkpointer::clear() {
  models_.clear();
  optimizers_.clear();
  schedulers_.clear();
  loaders_.clear();
}

fs::path Checkpointer::automatic_parent() const {
  if (!project_.automatic_checkpoint_naming || project_.project_dir.empty()) {
    throw std::invalid_argument(
        "without a folder, save_state() and load_state() need project.project_dir and "
        "project.automatic_checkpoint_naming");
  }
  return fs::path(project_.project_dir) / "checkpoints";
}

fs::path Checkpointer::folder_for_next() const {
  return automatic_parent() / checkpoint_name(project_.iteration);
}

void Checkpointer::number_from(std::int64_t next) {
  project_.iteration = static_cast<std::uint64_t>(next);
  is_numbered_ = true;
}

std::optional<Claim> Checkpointer::claim() const {
  const Environment& environment = state_->environment;
  if (environment.job_id.empty()) return std::nullopt;
  return Claim{.job = environment.job_id, .generation = environment.generation};
}

void Checkpointer::claim_on(const fs::path& parent) const {
  if (const auto mine = claim()) claim_checkpoints(parent, *mine);
}

void Checkpointer::on_main(const std::function<void()>& body) const {
  std::exception_ptr error;
  if (is_main()) {
    try {
      body();
    } catch (...) {
      error = std::current_exception();
    }
  }
  Communicator* const communicator = state_->communicator.get();
  const bool failed = communicator == nullptr
                          ? error != nullptr
                          : communicator->broadcast_number(error != nullptr) != 0;
  if (!failed) return;
  const std::string reason =
      communicator == nullptr ? "" : communicator->broadcast_bytes(error_text(error), 0);
  if (error) std::rethrow_exception(error);
  throw CheckpointError("rank 0: " + reason);
}

void Checkpointer::on_every_rank(const std::function<void()>& body) const {
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  if (state_->communicator != nullptr) {
    const auto failures = state_->communicator->all_gather_number(error != nullptr);
    const auto first = std::find(failures.begin(), failures.end(), 1);
    if (first == failures.end()) return;
    const auto rank = static_cast<std::size_t>(first - failures.begin());
    const auto reasons = state_->communicator->all_gather_bytes(error_text(error));
    if (!error) throw CheckpointError("rank " + std::to_string(rank) + ": " + reasons[rank]);
  }
  if (error) std::rethrow_exception(error);
}

// What the ranks have added up so far in a window of gradient accumulation, as its mean over them:
// each rank of another world that begins with that comes to the same mean in the end.
std::vector<NamedTensors> Checkpointer::open_window() const {
  if (accumulation_ == nullptr || accumulation_->sync_gradients()) return {};
  std::vector<NamedTensors> all;
  for (const auto& model : models_) {
    const NamedTensors parameters = trained(*model);
    torch::Tensor present = torch::zeros({static_cast<std::int64_t>(parameters.size())},
                                         torch::TensorOptions(state_->device));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].second.grad().defined()) present[static_cast<std::int64_t>(i)] = 1;
    }
    if (state_->communicator != nullptr) state_->communicator->all_reduce_max(present);
    present = present.cpu();
    NamedTensors& gradients = all.emplace_back();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (present[static_cast<std::int64_t>(i)].item<float>() == 0) continue;
      const auto& [name, parameter] = parameters[i];
      torch::Tensor gradient =
          parameter.grad().defined()
              ? parameter.grad().detach().clone(torch::MemoryFormat::Contiguous)
              : torch::zeros_like(parameter, torch::MemoryFormat::Contiguous);
      if (state_->communicator != nullptr) {
        state_->communicator->all_reduce_sum(gradient);
        gradient.div_(state_->environment.world_size);
      }
      gradients.emplace_back(name, gradient);
    }
  }
  return all;
}

TrainingState Checkpointer::training_state() const {
  TrainingState state;
  state.next_iteration = project_.iteration;
  state.models = models_.size();
  state.objects = objects_.size();
  for (const auto& optimizer : optimizers_) {
    const torch::optim::Optimizer& object = *optimizer;
    state.optimizers.push_back(c10::demangle(typeid(object).name()));
  }
  for (const auto& scheduler : schedulers_) state.schedulers.push_back(scheduler->state());
  for (const auto& loader : loaders_) state.loaders.push_back(loader->state());
  if (accumulation_ != nullptr) state.accumulation = accumulation_->state();
  if (scaler_ != nullptr) state.loss_scale = scaler_->state();
  return state;
}

std::unique_ptr<Snapshot> Checkpointer::snapshot(const TrainingState& state,
                                                 const torch::Tensor& random_states,
                                                 const std::vector<NamedTensors>& gradients) {
  auto snapshot = std::make_unique<Snapshot>(memory_);
  for (std::size_t i = 0; i < models_.size(); ++i) {
    snapshot->add_tensors(model_file(i), without_tied(state_of(*models_[i])));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    snapshot->add_tensors(gradients_file(i), gradients[i]);
  }
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    snapshot->add_optimizer(optimizer_file(i), *optimizers_[i]);
  }
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    snapshot->add_archive(custom_file(i), objects_[i].save);
  }
  for (std::int64_t rank = 0; rank < random_states.size(0); ++rank) {
    snapshot->add_tensors(random_states_file(static_cast<std::size_t>(rank)),
                          random_state_tensors(random_states[rank], state_->device.type()));
  }
  snapshot->add_text(kTrainingStateFile, training_state_text(state));
  snapshot->copy();
  return snapshot;
}

void Checkpointer::begin(const fs::path& folder) {
  if (writing_.valid()) writing_.get();
  begin_checkpoint(folder);
}

// A run that has loaded nothing may find another one's checkpoints: after a lower number than
// theirs the newest would not be the last one saved.
void Checkpointer::begin_next() {
  if (writing_.valid()) writing_.get();
  const fs::path folder = folder_for_next();
  if (fs::exists(folder)) {
    throw std::invalid_argument("Checkpoint directory " + folder.string() + " (" +
                                std::to_string(project_.iteration) +
                                ") already exists. Load it first, or set project.iteration to a "
                                "number that is free.");
  }
  const std::uint64_t free = is_numbered_ ? 0 : first_free(folder.parent_path());
  if (free > project_.iteration) {
    std::cerr << "accel: " << folder.parent_path().string() << " has checkpoints already: the first"
              << " of this run is " << checkpoint_name(free) << std::endl;
    project_.iteration = free;
  }
  claim_on(folder.parent_path());
  begin_checkpoint(folder_for_next());
}

void Checkpointer::run_hooks(const std::vector<CheckpointHook>& hooks, const fs::path& folder) {
  if (hooks.empty()) return;
  on_every_rank([&] {
    for (const CheckpointHook& hook : hooks) hook(folder.string());
  });
}

void Checkpointer::save(const fs::path& given) {
  const bool automatic = given.empty();
  const fs::path named = automatic ? given : resolved_folder(given);
  if (automatic) {
    static_cast<void>(automatic_parent());  // Where there is none, each rank throws that itself.
    on_main([&] { begin_next(); });
    if (!is_numbered_) {
      const auto number = static_cast<std::int64_t>(project_.iteration);
      Communicator* const communicator = state_->communicator.get();
      number_from(communicator == nullptr ? number : communicator->broadcast_number(number));
    }
  } else {
    on_main([&] { begin(named); });
  }
  const fs::path folder = automatic ? folder_for_next() : named;
  run_hooks(save_hooks_, partial_folder(folder));
  const std::vector<NamedTensors> gradients = open_window();
  torch::Tensor random_states = random_state(state_->device).unsqueeze(0);
  if (state_->communicator != nullptr) {
    random_states = state_->communicator->all_gather(random_states.to(state_->device)).cpu();
  }
  const std::uint64_t iteration = project_.iteration;
  if (automatic) ++project_.iteration;
  on_main([&] {
    const CheckpointWrite how{.iteration = iteration,
                              .num_processes = state_->environment.world_size,
                              .claim = automatic ? claim() : std::nullopt};
    writing_ = std::async(std::launch::async,
                          [folder, how, automatic, limit = project_.total_limit,
                           copied = snapshot(training_state(), random_states, gradients)] {
                            write_checkpoint(folder, copied->files(), how);
                            if (automatic) remove_old_checkpoints(folder, limit);
                          });
  });
}

void Checkpointer::wait() {
  on_main([&] {
    if (writing_.valid()) writing_.get();
  });
}

void Checkpointer::expect_saves() {
  if (!is_main() || writing_.valid()) return;
  std::size_t bytes = 0;
  for (const auto& model : models_) {
    // Each begins on a cache line.
    for (const auto& [name, tensor] : state_of(*model)) bytes += tensor.nbytes() + 64;
  }
  for (const auto& optimizer : optimizers_) bytes += expected_bytes(*optimizer);
  memory_.prepare(bytes);
}

bool Checkpointer::load(const fs::path& given, bool required) {
  const fs::path named = given.empty() ? given : resolved_folder(given);
  std::vector<std::int64_t> found{-1, 0};  // The folder's number, and the next one.
  on_main([&] {
    if (writing_.valid()) writing_.get();
    if (!named.empty()) {
      verify_checkpoint(named);
      found = {0, next_after(named)};
      return;
    }
    const fs::path parent = automatic_parent();
    claim_on(parent);
    const auto newest = newest_checkpoint(parent, [](const std::string& reason) {
      std::cerr << "accel: a checkpoint is passed over: " << reason << std::endl;
    });
    if (newest) {
      const auto number = *iteration_of(newest->folder.filename().string());
      found = {static_cast<std::int64_t>(number), next_after(newest->folder)};
    } else if (required) {
      throw CheckpointError(parent.string() + ": there is no complete checkpoint to load");
    } else {
      found[1] = static_cast<std::int64_t>(std::max(project_.iteration, first_free(parent)));
    }
  });
  if (state_->communicator != nullptr) found = state_->communicator->broadcast_numbers(found);
  if (found[0] < 0) {
    number_from(found[1]);
    return false;
  }
  const auto number = static_cast<std::uint64_t>(found[0]);
  const fs::path folder = named.empty() ? automatic_parent() / checkpoint_name(number) : named;
  run_hooks(load_hooks_, folder);
  on_every_rank([&] { read(folder); });
  number_from(found[1]);
  return true;
}

// A number that no checkpoint has, not even a damaged one or one after that which was loaded.
std::int64_t Checkpointer::next_after(const fs::path& folder) const {
  const fs::path file = folder / kTrainingStateFile;
  std::uint64_t next =
      parse_training_state(read_text(file, kMaxTrainingState), file.string()).next_iteration;
  if (project_.automatic_checkpoint_naming) next = std::max(next, first_free(automatic_parent()));
  return static_cast<std::int64_t>(next);
}

void Checkpointer::read(const fs::path& folder) {
  const fs::path file = folder / kTrainingStateFile;
  const TrainingState saved =
      parse_training_state(read_text(file, kMaxTrainingState), file.string());
  check_same_program(saved, training_state(), file.string());
  std::vector<WeightsLoad> weights;  // All of them fit before one is loaded.
  for (std::size_t i = 0; i < models_.size(); ++i) {
    weights.emplace_back(*models_[i], folder / model_file(i), /*strict=*/true);
  }
  for (std::size_t i = 0; i < models_.size(); ++i) {
    weights[i].run();
    read_gradients(*models_[i], folder / gradients_file(i));
  }
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    load_optimizer(folder / optimizer_file(i), state_->device, *optimizers_[i]);
  }
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    load_archive(folder / custom_file(i), c10::kCPU, objects_[i].load);
  }
  // After the optimizers: a scheduler sets their rates.
  for (std::size_t i = 0; i < schedulers_.size(); ++i) {
    schedulers_[i]->set_state(saved.schedulers[i]);
  }
  for (std::size_t i = 0; i < loaders_.size(); ++i) loaders_[i]->load(saved.loaders[i]);
  if (accumulation_ != nullptr) accumulation_->set_state(saved.accumulation);
  if (scaler_ != nullptr && saved.loss_scale) scaler_->set_state(*saved.loss_scale);
  const auto rank = static_cast<std::size_t>(state_->environment.rank);
  const fs::path random_states = folder / random_states_file(rank);
  // A rank that the world of the checkpoint did not have keeps its own random numbers.
  if (fs::exists(random_states)) restore_random_state(random_states, state_->device);
}

// Those of the open window; without one, there are none.
void Checkpointer::read_gradients(const torch::nn::Module& module, const fs::path& file) const {
  std::optional<TensorFileReader> reader;
  if (fs::exists(file)) reader.emplace(file);
  for (auto& [name, parameter] : trained(module)) {
    const SafetensorsEntry* entry = reader ? reader->header().find(name) : nullptr;
    parameter.mutable_grad() =
        entry != nullptr ? reader->read(*entry).to(parameter.options()) : torch::Tensor();
  }
}

}  // namespace accel
