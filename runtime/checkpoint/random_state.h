// The states of this process's random number generators: the CPU's and the device's.
#pragma once

#include <filesystem>

#include "runtime/checkpoint/tensor_file.h"

namespace accel {

// Both as one row of bytes, of one length on all ranks.
torch::Tensor random_state(c10::Device device);

// The named parts of such a row.
NamedTensors random_state_tensors(const torch::Tensor& row);

// Sets the generators from a file of such parts. Throws CheckpointError.
void restore_random_state(const std::filesystem::path& file, c10::Device device);

}  // namespace accel
