// Copies the state of a run in one go, so that training can continue while the copy is written
// (docs/decisions/0016, "What a save costs"). load_optimizer.h loads the optimizer archives
// that it makes.
//
// The training thread only copies tensors of models, and the moments of LibTorch's own optimizers
// and of those in accel/optim.h. Their files are made from the copies in the background. Registered
// objects, LBFGS and optimizer classes of the program write their archives themselves. They may
// hold tensors that are unknown here, so the training thread makes these archives immediately.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/checkpoint/byte_relay.h"
#include "runtime/checkpoint/checkpoint_file.h"
#include "runtime/checkpoint/relayed_archive.h"
#include "runtime/checkpoint/staging_memory.h"
#include "runtime/checkpoint/tensor_file.h"
#include "weights/core/shard_writer.h"

namespace c10 {
struct Event;
}
namespace torch::optim {
class Optimizer;
}  // namespace torch::optim
namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace accel::runtime {

// The tensors of an optimizer's state that its archive leaves out, by their addresses.
using LeftOut = std::set<const torch::Tensor*>;

// A moment of an optimizer, by its address. This rank has only a piece of it.
struct RelayedMoment {
  const torch::Tensor* moment;
  std::vector<std::int64_t> shape;  // The shape of the whole moment.
};

// An archive whose large tensors are given while it is written.
struct RelayedArchive {
  std::shared_ptr<RelayedTensors> tensors;  // Null if there are none.
  // Places in the list of moments, in the order in which the relay must give them. Moments without
  // elements are left out.
  std::vector<std::int64_t> order;
};

// A part of a tensor that this rank saves, and its values in row-major order.
struct TensorPart {
  weights::ShardPiece piece;
  torch::Tensor values;
};

// Returns about how many bytes of an optimizer's tensors a save will copy once the optimizer has
// made steps. `bytes_of` returns how many bytes of a parameter this rank saves. Returns 0 for an
// optimizer that writes its archive itself.
std::size_t expected_bytes(torch::optim::Optimizer& optimizer,
                           const std::function<std::size_t(const torch::Tensor&)>& bytes_of);

// A copy of the state of a run. Add everything that is saved, then call copy(). The originals may
// change afterwards, and another thread may call wait() and write files(). Not thread-safe.
class Snapshot {
 public:
  // Copies go to `memory`, which must not be used for anything else until the files are written.
  explicit Snapshot(StagingMemory& memory) : memory_(memory) {}
  // Waits for copies from GPUs, because `memory` may be used for something else afterwards.
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Adds a safetensors file. copy() throws std::invalid_argument for a dtype that the format lacks.
  void add_tensors(std::string file, NamedTensors tensors);
  // Adds the files of parts that this rank writes into `folder`.
  void add_parts(std::string folder, int rank, std::vector<TensorPart> parts);
  // Adds a LibTorch archive of the optimizer. For Adam, AdamW, SGD, Adagrad and RMSprop, of
  // LibTorch or of accel/optim.h, copy() copies the tensors, and the archive is serialized when it
  // is written. For all other classes the archive is serialized here. Tensors in `left_out` are not
  // written. Tensors in `relayed` are not copied, because their values are given while the file is
  // written. Throws std::invalid_argument if an optimizer of another class has tensors in one of
  // the two lists.
  RelayedArchive add_optimizer(std::string file, torch::optim::Optimizer& optimizer,
                               const LeftOut& left_out = {},
                               const std::vector<RelayedMoment>& relayed = {});
  // Adds a LibTorch archive that `save` fills. It is serialized here.
  void add_archive(std::string file,
                   const std::function<void(torch::serialize::OutputArchive&)>& save);
  // Adds a file that begins with `header` and has this size. The returned relay gives the remaining
  // bytes while the file is written.
  std::shared_ptr<ByteRelay> add_relayed(std::string file, std::string header, std::uint64_t size);
  // Adds a file that consists of `text`.
  void add_text(std::string file, std::string text);

  // Copies all tensors that were added. Called once. Copies from a GPU are queued on the current
  // stream, so work that is queued there later may change the originals (docs/decisions/0049).
  void copy();

  // Blocks until the copies from GPUs are complete. Any thread may call it, after copy().
  void wait() const;

  // The files to write, complete after wait(). The files refer to this object and to the memory.
  const std::vector<CheckpointFile>& files() const { return files_; }

 private:
  struct Optimizer {
    std::string file;
    torch::optim::Optimizer* optimizer;
    std::vector<torch::Tensor*> tensors;
    std::vector<torch::Tensor> values;     // To be copied; undefined if the tensor is not copied.
    std::vector<torch::Tensor> stand_ins;  // In place of relayed tensors; undefined for others.
    std::shared_ptr<RelayedTensors> relayed;  // Null if no tensor is relayed.
  };

  struct Parts {
    std::string folder;
    int rank;
    std::vector<TensorPart> parts;
  };

  std::vector<torch::Tensor> copies_of(const std::vector<torch::Tensor>& tensors);
  void note_queued(const c10::Device& device);
  void archive_later(const Optimizer& optimizer, std::vector<torch::Tensor> copies);

  StagingMemory& memory_;
  std::vector<std::pair<std::string, NamedTensors>> tensors_;
  std::vector<Parts> parts_;
  std::vector<Optimizer> optimizers_;
  std::vector<CheckpointFile> files_;
  // The events that happen when the copies from a GPU are done, one for each GPU.
  std::vector<std::shared_ptr<c10::Event>> queued_;
};

}  // namespace accel::runtime
