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

// Writes the module's weights into `folder`, durably. They become model.safetensors or, if they
// exceed `max_shard_size`, several shards and their index. Deletes weight files of an earlier save
// that are not replaced. A crash leaves the earlier save or the new one, and never a mixture. If
// both have shards of the same names, a crash may leave no index, and then nothing can be loaded.
// Throws CheckpointError if the weights cannot be written. Throws std::invalid_argument, before
// anything is written, if the folder is a checkpoint of save_state().
void save_weights(const torch::nn::Module& module, const std::filesystem::path& folder,
                  ByteSize max_shard_size);

// Do the same in two steps. begin_weights() creates a missing folder, or refuses a folder that is a
// checkpoint. save_weight_files() saves weights of these sizes, which are split into these files.
// It calls `write` for each file in turn, which must write the file durably.
void begin_weights(const std::filesystem::path& folder);
void save_weight_files(
    const std::filesystem::path& folder, const std::vector<WeightSize>& sizes,
    const std::vector<WeightFile>& files,
    const std::function<void(const WeightFile& file, const std::filesystem::path& path)>& write);

// Returns the files that hold the weights at a path that a program gives: a file, an index, or a
// folder with one of these. Throws CheckpointError if there are none.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& path);

// Returns the name that Python's Transformers once gave a weight of this name, or an empty text.
// X.LayerNorm.weight and X.LayerNorm.bias were X.LayerNorm.gamma and X.LayerNorm.beta, and many
// checkpoints of BERT still have the old names.
std::string old_name(const std::string& name);

// Loads the parameters and buffers of a module in two steps, so that several models can be compared
// before the first one is changed.
class WeightsLoad {
 public:
  // Compares names and shapes, and changes nothing. `path` is a file of weights, an index, or a
  // folder that holds one of these. If `strict`, the file must have every tensor of the module and
  // no others. A tied tensor may have any of its names. If not `strict`, the tensors that both have
  // are loaded. A tensor that the file has only under its old_name() is found as well. Throws
  // CheckpointError if the weights cannot be read or do not fit.
  WeightsLoad(const torch::nn::Module& module, const std::filesystem::path& path, bool strict);

  // Loads the weights. Throws CheckpointError if a file cannot be read or ends early.
  void run() const { read_tensors(reads_); }

 private:
  std::vector<std::unique_ptr<TensorFileReader>> files_;
  std::vector<TensorRead> reads_;
};

}  // namespace accel::runtime
