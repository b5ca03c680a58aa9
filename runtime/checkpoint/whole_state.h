// The sharded models of a checkpoint of StateDictType::kFull: whole tensors, of which a process
// holds one at a time (docs/decisions/0084).
//
// clang-format off
//   training thread, every rank              background thread of rank 0
//   WholeState(), add_...()  layouts
//   give()  gather a tensor ──────────────▶  write it to its file
//           gather the next one ──────────▶  ...
//                                            write the manifest, rename the folder
// clang-format on
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/snapshot.h"
#include "runtime/checkpoint/whole_file.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {

// The tensors of one save. Used by the training thread alone, except for close().
class WholeState {
 public:
  // Add the whole parameters and buffers of a model, or its gradients, to the file of this name.
  // Called alike on all ranks. Throw std::invalid_argument for a dtype that safetensors lacks.
  void add_parameters(const std::string& file, const ShardedModel& model);
  void add_gradients(const std::string& file, const ShardedModel& model);
  // begin_optimizer() begins the moments of the next optimizer. add_moments() adds its moments
  // for the parameters of a model. Throws std::invalid_argument if the state of the optimizer is
  // of an unknown class.
  void begin_optimizer() { archives_.emplace_back(); }
  void add_moments(torch::optim::Optimizer& optimizer, const ShardedModel& model);

  // Add the files of models, and then the archive of optimizer i, to `snapshot`. Called on rank 0,
  // for the optimizers in their order.
  void put_files(Snapshot& snapshot);
  void put_optimizer(std::size_t i, const std::string& file, torch::optim::Optimizer& optimizer,
                     const LeftOut& left_out, Snapshot& snapshot);

  // Gathers the tensors, and returns once the thread that writes the files has taken all of them.
  // That thread must be running. Does nothing if there are no tensors. Collective. If give()
  // throws, the other thread throws as well. Called once, because it drops the references to the
  // tensors at its end.
  void give(const ProcessState& process);
  // Called by the thread that writes, as its last call. give() then no longer waits for it. Frees
  // the memory of archives, because this object may live until the next save.
  void close();

 private:
  struct File {
    std::string name;
    WholeFile content;
    std::shared_ptr<ByteRelay> relay = nullptr;  // Null except on rank 0.
  };
  struct Archive {
    std::vector<SavedMoment> moments = {};  // Moments of sharded models, also ones of no elements.
    RelayedArchive relayed = {};            // Empty except on rank 0.
  };
  void give_archive(Archive& archive, const ProcessState& process);
  void drop_tensors();
  std::vector<ByteRelay*> relays() const;

  std::vector<File> files_;
  std::vector<Archive> archives_;
};

}  // namespace accel::runtime
