// What a save copies in the training thread, how its files are made of that afterwards, and how
// archives among them are loaded.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint_file.h"
#include "runtime/checkpoint/staging_memory.h"
#include "runtime/checkpoint/tensor_file.h"

namespace torch::optim {
class Optimizer;
}
namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace accel {

// About how many bytes of tensors of an optimizer will have to be copied, also before its first
// step; 0 of one that writes its archive itself.
std::size_t expected_bytes(torch::optim::Optimizer& optimizer);

// First everything is named that is to be saved, then copy() copies all of it in one go; after that
// it may change, and files() may be written by another thread. Not thread-safe.
class Snapshot {
 public:
  // Copied to `memory`, which is not used otherwise until the files are written.
  explicit Snapshot(StagingMemory& memory) : memory_(memory) {}

  // As safetensors. Throws std::invalid_argument for a dtype that the format lacks.
  void add_tensors(std::string file, NamedTensors tensors);
  // As an archive of LibTorch's. The tensors of LibTorch's own optimizers (but for LBFGS) are
  // copied as they are and the archive is made when it is written; of others, also of classes
  // derived from those, it is made here.
  void add_optimizer(std::string file, torch::optim::Optimizer& optimizer);
  // Of an object that writes itself; the archive is made here.
  void add_archive(std::string file,
                   const std::function<void(torch::serialize::OutputArchive&)>& save);
  void add_text(std::string file, std::string text);

  void copy();

  // What they refer to is in the snapshot and the memory.
  const std::vector<CheckpointFile>& files() const { return files_; }

 private:
  struct Optimizer {
    std::string file;
    torch::optim::Optimizer* optimizer;
    std::vector<torch::Tensor*> tensors;
  };

  std::vector<torch::Tensor> copies_of(const std::vector<torch::Tensor>& tensors);
  void archive_later(const Optimizer& optimizer, std::vector<torch::Tensor> copies);

  StagingMemory& memory_;
  std::vector<std::pair<std::string, NamedTensors>> tensors_;
  std::vector<Optimizer> optimizers_;
  std::vector<CheckpointFile> files_;
};

// An archive of LibTorch's that a snapshot has made. Tensors come on `device`. Throws
// CheckpointError that names the file if it does not fit.
void load_archive(const std::filesystem::path& file, c10::Device device,
                  const std::function<void(torch::serialize::InputArchive&)>& load);

// The optimizer then has the state that was saved and no other, or, if this throws, the one it had.
// One of a class that is not derived from LibTorch's loads itself as it will.
void load_optimizer(const std::filesystem::path& file, c10::Device device,
                    torch::optim::Optimizer& optimizer);

}  // namespace accel
