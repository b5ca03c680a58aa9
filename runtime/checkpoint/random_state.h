// The states of this process's random number generators: the CPU's and the device's.
#pragma once

#include <filesystem>

#include "runtime/checkpoint/tensor_file.h"

namespace accel {

// All of them as one row of bytes, of one length on all ranks.
torch::Tensor random_state(c10::Device device);

// The named parts of such a row, which was made for a device of this type.
NamedTensors random_state_tensors(const torch::Tensor& row, c10::DeviceType device);

// Sets the generators from a file of such parts. That of a device which the file was not made for
// stays as it is: one state for all ranks would give them the same numbers. Throws CheckpointError.
void restore_random_state(const std::filesystem::path& file, c10::Device device);

}  // namespace accel
