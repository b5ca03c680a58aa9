// Saves and restores the states of this process's random number generators: the CPU's and, on a
// GPU, the device's.
#pragma once

#include <filesystem>

#include "runtime/checkpoint/tensor_file.h"

namespace accel::runtime {

// Returns the states as one row of bytes. The row has the same length on all ranks, so that rows
// can be gathered.
torch::Tensor random_state(c10::Device device);

// Splits such a row, which was made for a device of type `device`, into its named parts.
NamedTensors random_state_tensors(const torch::Tensor& row, c10::DeviceType device);

// Sets the generators to the parts in `file`. If the file was saved on a CPU, it has no state
// for the GPU's generator, which then keeps its own. With one state for all ranks, all would
// draw the same numbers. Throws CheckpointError if the file cannot be read or has no state of
// the CPU's generator.
void restore_random_state(const std::filesystem::path& file, c10::Device device);

}  // namespace accel::runtime
