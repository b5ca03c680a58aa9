// A model's weights in a folder, as Accelerate's save_model() and load_checkpoint_in_model() know
// it.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "runtime/checkpoint/tensor_file.h"
#include "runtime/core/weight_shards.h"

namespace accel {

// Writes the module's weights as model.safetensors, or as several files and their index; files of
// an earlier save that are not replaced go. Durable; a crash leaves the earlier save, the new one
// or, where both have shards of the same names, an index that is missing, and never some of each.
// Throws CheckpointError; std::invalid_argument, before anything is written, if the folder is a
// checkpoint of save_state().
void save_weights(const torch::nn::Module& module, const std::filesystem::path& folder,
                  ByteSize max_shard_size);

// A file of weights, an index, or a folder that holds one or the other, for the parameters and
// buffers of a module. `strict`: every one of them must be there, but for further names of tied
// ones, and nothing else; otherwise what is on both sides is read.
class WeightsLoad {
 public:
  // Compares names and shapes, and changes nothing. Throws CheckpointError if they do not fit.
  WeightsLoad(const torch::nn::Module& module, const std::filesystem::path& path, bool strict);

  // Throws CheckpointError if a file ends early.
  void run() const { read_tensors(reads_); }

 private:
  std::vector<std::unique_ptr<TensorFileReader>> files_;
  std::vector<TensorRead> reads_;
};

}  // namespace accel
