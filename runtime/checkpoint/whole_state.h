// What a checkpoint of StateDictType::kFull has of sharded models: whole tensors, of which a
// process holds one at a time (docs/decisions/0084).
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
  // Adds the whole parameters and buffers of a model, and its gradients, to the files of these
  // names. Alike on all ranks. Throws std::invalid_argument for a dtype that safetensors lacks.
  void add_parameters(const std::string& file, const ShardedModel& model);
  void add_gradients(const std::string& file, const ShardedModel& model);
  // Begins the moments of the next optimizer, and adds those for the parameters of a model to the
  // ones that were begun last. Throws std::invalid_argument if the state of the optimizer has
  // tensors that are unknown here.
  void begin_optimizer() { archives_.emplace_back(); }
  void add_moments(torch::optim::Optimizer& optimizer, const ShardedModel& model);

  // On rank 0: adds the files of models to `snapshot`, and then the archive of optimizer i. The
  // optimizers follow in their order.
  void put_files(Snapshot& snapshot);
  void put_optimizer(std::size_t i, const std::string& file, torch::optim::Optimizer& optimizer,
                     const LeftOut& left_out, Snapshot& snapshot);

  // Gathers the tensors, and returns once all of them are taken by the thread that writes the
  // files. That thread must be running. Does nothing if there are no tensors. Collective. If it
  // throws, so does the other thread. Called once: it then refers to the tensors no longer.
  void give(const ProcessState& process);
  // Called by the thread that writes, at last: give() waits for it no longer. Frees the memory of
  // archives, because this object may live until the next save.
  void close();

 private:
  struct File {
    std::string name;
    WholeFile content;
    std::shared_ptr<ByteRelay> relay = nullptr;  // Null except on rank 0.
  };
  struct Archive {
    std::vector<SavedMoment> moments = {};  // Those of sharded models, with elements or without.
    RelayedArchive relayed = {};            // Empty except on rank 0.
  };
  void give_archive(Archive& archive, const ProcessState& process);
  void drop_tensors();
  std::vector<ByteRelay*> relays() const;

  std::vector<File> files_;
  std::vector<Archive> archives_;
};

}  // namespace accel::runtime
