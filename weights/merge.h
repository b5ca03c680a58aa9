// Merges a sharded checkpoint into one file of weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace accel::weights {

struct Merged {
  std::filesystem::path file;
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;    // The size of the file.
  std::uint64_t largest = 0;  // The size of the largest tensor: the memory that merging took.
  std::vector<std::string> skipped;  // Names of what is no tensor.
};

// Writes all tensors of the checkpoint in `folder` into `out` as safetensors, durably: after a
// crash `out` is missing, as before, or whole. Holds one tensor in memory at a time. If all names
// begin with one key and a dot, as in Accelerate's checkpoints ("model."), and the folder is one of
// Python's DCP, the key is left out. Throws CheckpointError if the checkpoint cannot be read, is
// incomplete or has no tensors, or `out` cannot be written or is a file of the checkpoint.
Merged merge(const std::filesystem::path& folder, const std::filesystem::path& out);

}  // namespace accel::weights
