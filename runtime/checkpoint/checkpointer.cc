#include "runtime/checkpoint/checkpointer.h"

#include <algorithm>
#include <deque>
#include <iostream>
#include <stdexcept>

#include "runtime/checkpoint/random_state.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/core/checkpoint_error.h"
#include "runtime/core/checkpoint_layout.h"

namespace accel {
namespace fs = std::filesystem;
namespace {

template <typename Save>
std::string archived(Save&& save) {
  torch::serialize::OutputArchive archive;
  save(archive);
  std::string bytes;
  archive.save_to([&](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  return bytes;
}

template <typename Load>
void unarchive(const fs::path& file, c10::Device device, Load&& load) {
  if (!fs::exists(file)) {
    throw CheckpointError(file.string() + ": it is missing: the checkpoint is of another program");
  }
  try {
    torch::serialize::InputArchive archive;
    archive.load_from(file.string(), device);
    load(archive);
  } catch (const c10::Error& error) {
    throw CheckpointError(file.string() +
                          ": it does not fit this program: " + error.what_without_backtrace());
  }
}

template <typename T>
void add_once(std::vector<std::shared_ptr<T>>& all, std::shared_ptr<T> one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
}

}  // namespace

// The content of all files; what it refers to is in itself, or in the Checkpointer's memory.
struct Checkpointer::Snapshot {
  std::deque<TensorFile> tensors;
  std::deque<std::string> archives;
  std::vector<CheckpointFile> files;

  void add(std::string name, std::string bytes) {
    archives.push_back(std::move(bytes));
    files.push_back({std::move(name), {archives.back()}});
  }
};

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
    std::cerr << "accel: the last checkpoint was not saved: " << error.what() << std::endl;
  }
}

void Checkpointer::add_model(std::shared_ptr<torch::nn::Module> module) {
  add_once(models_, std::move(module));
}

void Checkpointer::add_optimizer(std::shared_ptr<torch::optim::Optimizer> optimizer) {
  add_once(optimizers_, std::move(optimizer));
}

fs::path Checkpointer::automatic_parent() const {
  if (!project_.automatic_checkpoint_naming || project_.project_dir.empty()) {
    throw std::invalid_argument(
        "without a folder, save_state() and load_state() need project.project_dir and "
        "project.automatic_checkpoint_naming");
  }
  return fs::path(project_.project_dir) / "checkpoints";
}

std::optional<Claim> Checkpointer::claim_on(const fs::path& parent) {
  const Environment& environment = state_->environment;
  if (environment.job_id.empty()) return std::nullopt;
  Claim claim{.job = environment.job_id, .generation = environment.generation};
  claim_checkpoints(parent, claim);
  return claim;
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
  const bool failed = state_->communicator == nullptr
                          ? error != nullptr
                          : state_->communicator->broadcast_number(error != nullptr) != 0;
  if (error) std::rethrow_exception(error);
  if (failed) throw CheckpointError("rank 0 could not save or load; its own error says why");
}

void Checkpointer::on_every_rank(const std::function<void()>& body) const {
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  std::vector<std::int64_t> failures{error != nullptr};
  if (state_->communicator != nullptr) {
    failures = state_->communicator->all_gather_number(error != nullptr);
  }
  if (error) std::rethrow_exception(error);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (failures[rank] == 0) continue;
    throw CheckpointError("rank " + std::to_string(rank) +
                          " could not load the checkpoint; its own error says why");
  }
}

std::unique_ptr<Checkpointer::Snapshot> Checkpointer::snapshot(const torch::Tensor& random_states) {
  auto snapshot = std::make_unique<Snapshot>();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    snapshot->tensors.emplace_back(without_tied(state_of(*models_[i])));
    bytes += snapshot->tensors.back().data_size();
  }
  if (!memory_.defined() || memory_.nbytes() < bytes) {
    memory_ = torch::empty({static_cast<std::int64_t>(bytes)}, torch::kByte);
  }
  char* position = static_cast<char*>(memory_.data_ptr());
  for (std::size_t i = 0; i < models_.size(); ++i) {
    TensorFile& file = snapshot->tensors[i];
    file.copy_to(position);
    position += file.data_size();
    snapshot->files.push_back({model_file(i), file.parts()});
  }
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    snapshot->add(optimizer_file(i),
                  archived([&](auto& archive) { optimizers_[i]->save(archive); }));
  }
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    snapshot->add(custom_file(i), archived(objects_[i].save));
  }
  for (std::int64_t rank = 0; rank < random_states.size(0); ++rank) {
    snapshot->tensors.emplace_back(random_state_tensors(random_states[rank]));
    snapshot->files.push_back(
        {random_states_file(static_cast<std::size_t>(rank)), snapshot->tensors.back().parts()});
  }
  return snapshot;
}

void Checkpointer::start_writing(fs::path folder, const torch::Tensor& random_states) {
  if (writing_.valid()) writing_.get();
  const bool automatic = folder.empty();
  if (automatic) folder = automatic_parent() / checkpoint_name(project_.iteration);
  if (automatic && fs::exists(folder)) {
    throw std::invalid_argument("Checkpoint directory " + folder.string() + " (" +
                                std::to_string(project_.iteration) +
                                ") already exists. Load it first, or set project.iteration to a "
                                "number that is free.");
  }
  check_replaceable(folder);
  const fs::path parent = fs::absolute(folder).parent_path();
  CheckpointWrite how{.iteration = project_.iteration,
                      .num_processes = state_->environment.world_size,
                      .claim = automatic ? claim_on(parent) : std::nullopt};
  writing_ = std::async(std::launch::async,
                        [folder = std::move(folder), how, automatic, parent,
                         limit = project_.total_limit, snapshot = snapshot(random_states)] {
                          write_checkpoint(folder, snapshot->files, how);
                          if (automatic) remove_old_checkpoints(parent, limit);
                        });
}

void Checkpointer::save(const fs::path& folder) {
  torch::Tensor random_states = random_state(state_->device).unsqueeze(0);
  if (state_->communicator != nullptr) {
    random_states = state_->communicator->all_gather(random_states.to(state_->device)).cpu();
  }
  on_main([&] { start_writing(folder, random_states); });
  if (folder.empty()) ++project_.iteration;
}

void Checkpointer::wait() {
  on_main([&] {
    if (writing_.valid()) writing_.get();
  });
}

bool Checkpointer::load(const fs::path& named, bool required) {
  std::int64_t iteration = -1;
  on_main([&] {
    if (writing_.valid()) writing_.get();
    if (!named.empty()) {
      iteration = static_cast<std::int64_t>(verify_checkpoint(named).iteration);
      return;
    }
    const fs::path parent = automatic_parent();
    claim_on(parent);
    const auto found = newest_checkpoint(parent, [](const std::string& reason) {
      std::cerr << "accel: a checkpoint is passed over: " << reason << std::endl;
    });
    if (found)
      iteration = static_cast<std::int64_t>(*iteration_of(found->folder.filename().string()));
    if (!found && required) {
      throw CheckpointError(parent.string() + ": there is no complete checkpoint to load");
    }
  });
  if (state_->communicator != nullptr) {
    iteration = state_->communicator->broadcast_number(iteration);
  }
  if (iteration < 0) return false;
  const auto number = static_cast<std::uint64_t>(iteration);
  const fs::path folder = named.empty() ? automatic_parent() / checkpoint_name(number) : named;
  on_every_rank([&] { read(folder); });
  project_.iteration = number + 1;
  return true;
}

void Checkpointer::read(const fs::path& folder) {
  // A checkpoint with more than this program has is another program's, too.
  for (const std::string& beyond : {model_file(models_.size()), optimizer_file(optimizers_.size()),
                                    custom_file(objects_.size())}) {
    if (!fs::exists(folder / beyond)) continue;
    throw CheckpointError((folder / beyond).string() +
                          ": this program has nothing that it belongs to: prepare() and "
                          "register_for_checkpointing() the same objects before load_state()");
  }
  for (std::size_t i = 0; i < models_.size(); ++i) {
    load_weights(*models_[i], folder / model_file(i), /*strict=*/true);
  }
  for (std::size_t i = 0; i < optimizers_.size(); ++i) {
    unarchive(folder / optimizer_file(i), state_->device,
              [&](auto& archive) { optimizers_[i]->load(archive); });
  }
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    unarchive(folder / custom_file(i), c10::kCPU, objects_[i].load);
  }
  const auto rank = static_cast<std::size_t>(state_->environment.rank);
  const fs::path random_states = folder / random_states_file(rank);
  // A rank that the world of the checkpoint did not have keeps its own random numbers.
  if (fs::exists(random_states)) restore_random_state(random_states, state_->device);
}

}  // namespace accel
