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
  std::vector<std::string> skipped;  // Names of saved objects that are no tensors.
};

// Writes all tensors of the checkpoint in `folder` into `out` as safetensors, durably. After a
// crash `out` is missing, as before, or whole. Holds one tensor in memory at a time. If the folder
// is one of Python's DCP, and all names begin with one key and a dot, the key is left out.
// Accelerate's checkpoints have such a key ("model."). Throws CheckpointError if the checkpoint
// cannot be read, is incomplete or has no tensors. Also throws it if `out` cannot be written or is
// a file of the checkpoint.
Merged merge(const std::filesystem::path& folder, const std::filesystem::path& out);

}  // namespace accel::weights
