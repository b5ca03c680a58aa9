// The state of a training run: the contents of a checkpoint, and the order in which they are
// gathered and restored.
//
// clang-format off
// save:  gather()      on every rank: gradients of an open window, random states   collective
//        copy()        on rank 0, or on every rank: one copy of all tensors        training thread
//        Gathered::whole->give()   on every rank: whole tensors of sharded         collective
//                      models, while another thread writes them
// load:  restore()     on every rank: from the files of a verified checkpoint      training thread
// clang-format on
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/checkpoint/snapshot.h"
#include "runtime/checkpoint/staging_memory.h"
#include "runtime/checkpoint/tensor_file.h"
#include "runtime/checkpoint/whole_state.h"
#include "runtime/core/accumulation.h"
#include "runtime/core/epoch_sequence.h"
#include "runtime/core/training_state.h"
#include "runtime/optim/checkpointed_scheduler.h"
#include "runtime/precision/grad_scaler.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {

class SavedForm;

// An object of the program that is saved in checkpoints too.
struct CheckpointedObject {
  std::function<void(torch::serialize::OutputArchive&)> save;
  std::function<void(torch::serialize::InputArchive&)> load;
};

// Reads the training state of the checkpoint `folder`. Throws CheckpointError.
TrainingState read_training_state(const std::filesystem::path& folder);

// Refers to everything that the program has prepared or registered. Files are numbered in the order
// in which their objects were added. So a program that loads must add the same objects in the same
// order. Not thread-safe.
class RunState {
 public:
  explicit RunState(std::shared_ptr<ProcessState> process) : process_(std::move(process)) {}

  // Models, optimizers and schedulers that were added before are not added again.
  void add_model(std::shared_ptr<torch::nn::Module> model);
  void add_optimizer(std::shared_ptr<torch::optim::Optimizer> optimizer);
  void add_scheduler(std::shared_ptr<CheckpointedScheduler> scheduler);
  void add_loader(std::shared_ptr<EpochSequence> loader) { loaders_.push_back(std::move(loader)); }
  void add_object(CheckpointedObject object) { objects_.push_back(std::move(object)); }
  void set_accumulation(std::shared_ptr<Accumulation> accumulation) {
    accumulation_ = std::move(accumulation);
  }
  // Null if losses are not scaled.
  void set_scaler(std::shared_ptr<GradScaler> scaler) { scaler_ = std::move(scaler); }

  // Removes models, optimizers, schedulers and loaders. Objects, accumulation and scaler are kept.
  void clear();

  const std::vector<std::shared_ptr<torch::nn::Module>>& models() const { return models_; }
  const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers() const {
    return optimizers_;
  }
  const std::vector<std::shared_ptr<CheckpointedScheduler>>& schedulers() const {
    return schedulers_;
  }
  const std::shared_ptr<Accumulation>& accumulation() const { return accumulation_; }
  const std::shared_ptr<GradScaler>& scaler() const { return scaler_; }

  // The state that rank 0 needs from the other ranks. All other state is the same on every rank.
  struct Gathered {
    // The mean gradients of each model. Empty unless a window of accumulation is open.
    std::vector<NamedTensors> gradients;
    // One row of bytes for each rank (random_state.h).
    torch::Tensor random_states;
    // Moments that are saved in parts.
    LeftOut left_out;
    // The tensors of models that are saved as a whole.
    std::shared_ptr<WholeState> whole;
  };
  // Collective. Throws what the communication throws. Throws std::logic_error if a sharded model
  // cannot be saved now, and std::invalid_argument if an optimizer's state is of an unknown class
  // or a tensor's dtype cannot be saved.
  Gathered gather() const;

  // Returns true if a model is saved in parts, so that each rank writes its own files.
  bool is_in_parts() const;

  // Copies the state into `memory`, and returns the files of a checkpoint made of that copy. Rank 0
  // copies the whole state, and every rank its parts of sharded models that are saved in parts.
  // Another thread may write the files while training continues, once gathered.whole has been
  // given. `next_number` is stored as the number of the next automatically named checkpoint. Throws
  // std::invalid_argument for a tensor whose dtype safetensors lacks, and what the save functions
  // of objects throw.
  std::unique_ptr<Snapshot> copy(const Gathered& gathered, std::uint64_t next_number,
                                 StagingMemory& memory) const;

  // Returns about how many bytes of tensors copy() will copy.
  std::size_t expected_bytes() const;

  // Loads the checkpoint `folder`, which is verified, into all of these objects. Throws
  // CheckpointError if it does not fit this program. Nothing is loaded then, with one exception. A
  // registered object, or an optimizer whose class is not LibTorch's or of accel/optim.h, can only
  // be compared by loading it.
  void restore(const std::filesystem::path& folder);

 private:
  void add_whole_state(const Gathered& gathered, std::uint64_t next_number,
                       Snapshot& snapshot) const;
  void add_parts(Snapshot& snapshot) const;
  std::shared_ptr<WholeState> whole_state(bool is_window_open) const;
  void restore_tensors(const std::filesystem::path& folder, const SavedForm& form);
  void check_moments(const std::filesystem::path& folder, const SavedForm& form) const;
  void restore_optimizer(std::size_t i, const std::filesystem::path& folder, const SavedForm& form);
  TrainingState training_state(std::uint64_t next_number) const;
  void restore_training_state(const TrainingState& saved);

  std::shared_ptr<ProcessState> process_;
  std::vector<std::shared_ptr<torch::nn::Module>> models_;
  std::vector<std::shared_ptr<torch::optim::Optimizer>> optimizers_;
  std::vector<CheckpointedObject> objects_;
  std::vector<std::shared_ptr<CheckpointedScheduler>> schedulers_;
  std::vector<std::shared_ptr<EpochSequence>> loaders_;
  std::shared_ptr<Accumulation> accumulation_;
  std::shared_ptr<GradScaler> scaler_;
};

}  // namespace accel::runtime
