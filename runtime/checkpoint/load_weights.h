// Loads the weights of one model from files of any form: those of save_model() and of Hugging Face,
// the parts of a sharded checkpoint, and folders of Python's torch.distributed.checkpoint.
#pragma once

#include <torch/nn/module.h>

#include <filesystem>

#include "runtime/parallel/sharded_model.h"

namespace accel::runtime {

// Loads parameters and buffers. If `model` is not null, the module is sharded, and only the bytes
// of this rank's parts are read. Compares names and shapes before anything is changed. `strict`
// means the same as in WeightsLoad, but tensors that were built without memory must be saved in any
// case. Throws CheckpointError if the weights cannot be read or do not fit. Not collective.
void load_weights(const torch::nn::Module& module, ShardedModel* model,
                  const std::filesystem::path& path, bool strict);

}  // namespace accel::runtime
