// A model's weights in a folder, as Accelerate's save_model() and load_checkpoint_in_model() know
// it.
#pragma once

#include <filesystem>

#include "runtime/checkpoint/tensor_file.h"
#include "runtime/core/weight_shards.h"

namespace accel {

// Writes the module's weights as model.safetensors, or as several files and their index; files of
// an earlier save that are not replaced go. Durable; a crash leaves the earlier save, the new one
// or, where both have shards of the same names, an index that is missing, and never some of each.
// Throws CheckpointError, std::invalid_argument.
void save_weights(const torch::nn::Module& module, const std::filesystem::path& folder,
                  ByteSize max_shard_size);

// Reads a file of weights, an index, or a folder that holds one or the other, into the parameters
// and buffers of the module. `strict`: every one of them must be there, but for further names of
// tied ones, and nothing else; otherwise what is on both sides is read. Throws CheckpointError.
void load_weights(torch::nn::Module& module, const std::filesystem::path& path, bool strict);

}  // namespace accel
