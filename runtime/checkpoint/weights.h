// Saves and loads the weights of one model, in the files that Accelerate's
// save_model() and load_checkpoint_in_model() use.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/tensor_file.h"
#include "runtime/core/weight_shards.h"

namespace accel::runtime {

// Writes the module's weights into `folder`, durably: as model.safetensors or, if they exceed
// `max_shard_size`, as several shards and their index. Deletes weight files of an earlier save that
// are not replaced. A crash leaves the earlier save or the new one, and never a mixture; if both
// have shards of the same names, it may leave no index, and then nothing can be loaded. Throws
// CheckpointError if the weights cannot be written; std::invalid_argument, before anything is
// written, if the folder is a checkpoint of save_state().
void save_weights(const torch::nn::Module& module, const std::filesystem::path& folder,
                  ByteSize max_shard_size);

// Do the same in two steps. The first one creates a missing folder, or refuses one that is a
// checkpoint. The second one saves weights of these sizes, which are split into these files;
// `write` writes one file, durably, and is called for each in turn.
void begin_weights(const std::filesystem::path& folder);
void save_weight_files(
    const std::filesystem::path& folder, const std::vector<WeightSize>& sizes,
    const std::vector<WeightFile>& files,
    const std::function<void(const WeightFile& file, const std::filesystem::path& path)>& write);

// Returns the files that hold the weights at a path that a program gives: a file, an index, or a
// folder with one of these. Throws CheckpointError if there are none.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& path);

// Returns the name that Python's Transformers once gave a weight of this name, or an empty text:
// X.LayerNorm.gamma and X.LayerNorm.beta are X.LayerNorm.weight and X.LayerNorm.bias now, and many
// checkpoints of BERT still have the old names.
std::string old_name(const std::string& name);

// Loads the parameters and buffers of a module in two steps, so that several models can be compared
// before the first one is changed.
class WeightsLoad {
 public:
  // Compares names and shapes, and changes nothing. `path` is a file of weights, an index, or a
  // folder that holds one of these. If `strict`, the file must have every tensor of the module (of
  // tied ones any name will do) and no others; otherwise the tensors that both have are loaded. A
  // tensor that the file has under its old_name() alone is found there. Throws CheckpointError if
  // the weights cannot be read or do not fit.
  WeightsLoad(const torch::nn::Module& module, const std::filesystem::path& path, bool strict);

  // Loads the weights. Throws CheckpointError if a file cannot be read or ends early.
  void run() const { read_tensors(reads_); }

 private:
  std::vector<std::unique_ptr<TensorFileReader>> files_;
  std::vector<TensorRead> reads_;
};

}  // namespace accel::runtime
