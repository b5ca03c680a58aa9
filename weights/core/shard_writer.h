// Lays out the files of a sharded checkpoint (weights/core/shard_files.h). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weights/core/box.h"
#include "weights/core/safetensors.h"

namespace accel::weights {

// A part of a tensor that a rank writes.
struct ShardPiece {
  std::string name;  // The name of the tensor, from the root of the model.
  SafetensorsDtype dtype = SafetensorsDtype::kF32;
  Shape shape;  // The shape of the whole tensor.
  Box box;      // The part. An empty part is written only if the whole tensor is empty.
};

struct ShardFile {
  std::string name;
  std::string header;               // The first bytes of the file.
  std::vector<std::size_t> pieces;  // The pieces whose bytes follow, in this order without gaps.
  std::uint64_t size = 0;           // The size of the file in bytes.
};

// Returns the files that a rank writes, at least one. `pieces` may be in any order.
std::vector<ShardFile> shard_files(const std::vector<ShardPiece>& pieces, int rank);

}  // namespace accel::weights
