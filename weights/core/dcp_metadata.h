// Reads the `.metadata` file of a folder that Python's torch.distributed.checkpoint (DCP) wrote.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weights/core/box.h"
#include "weights/core/safetensors.h"

namespace accel::weights {

// Part of a file: a complete archive of torch.save(), which holds one tensor or one object.
struct DcpSlice {
  std::string file;  // In the checkpoint's folder.
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

struct DcpChunk {
  Box box;
  DcpSlice slice;
};

struct DcpTensor {
  SafetensorsDtype dtype = SafetensorsDtype::kF32;
  Shape shape;
  std::vector<DcpChunk> chunks;  // Without those that have no elements.
};

struct DcpMetadata {
  std::map<std::string, DcpTensor> tensors;
  std::vector<std::string> objects;  // Names of objects that are no tensors, for example a rate.
};

// The largest `.metadata` that is read, in bytes. That of a checkpoint of 1,000 ranks has
// about 60 MB.
inline constexpr std::uint64_t kMaxDcpMetadata = 128 << 20;

// Parses the file. `file` names it in errors. Throws CheckpointError if the file is torn, holds
// anything else than DCP's metadata of version 1, or has an unknown dtype. Also throws it for a
// chunk outside of its tensor or without a place, or for a name of a file in another folder.
DcpMetadata parse_dcp_metadata(std::string_view bytes, const std::string& file);

// Returns the dtype of a name in Python, such as "torch bfloat16" or "torch BFloat16Storage".
// Throws CheckpointError, which names `file`, if the dtype is not supported.
SafetensorsDtype dtype_of_torch(std::string_view global, const std::string& file);

}  // namespace accel::weights
