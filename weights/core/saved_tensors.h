// The tensors of a checkpoint of several files, and the bytes that a process must read
// of them. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weights/core/box.h"
#include "weights/core/safetensors.h"

namespace accel::weights {

// A part of a tensor, stored in row-major order without gaps.
struct SavedPiece {
  Box box;
  std::size_t file = 0;     // Position in SavedTensors::files.
  std::uint64_t begin = 0;  // Position of its first byte in the file.
};

struct SavedTensor {
  SafetensorsDtype dtype = SafetensorsDtype::kF32;
  Shape shape;
  std::vector<SavedPiece> pieces;
};

struct SavedTensors {
  std::vector<std::string> files;  // Paths, which errors name.
  std::map<std::string, SavedTensor> tensors;

  // Adds a piece. A piece with the same box as an earlier one is dropped, because it is a replica.
  // Throws CheckpointError, which names the file, if dtype or shape differ from those of earlier
  // pieces of the tensor.
  void add(const std::string& name, SafetensorsDtype dtype, const Shape& shape, SavedPiece piece);
};

// Throws CheckpointError if the pieces of a tensor do not cover it exactly. `folder` names the
// checkpoint in the error.
void check_complete(const SavedTensors& saved, const std::string& folder);

// Bytes of a file that a process reads into the memory of the part that it wants.
struct ByteRange {
  std::size_t file = 0;      // Position in SavedTensors::files.
  std::uint64_t begin = 0;   // In the file.
  std::uint64_t to = 0;      // In the memory of the wanted part.
  std::uint64_t length = 0;  // At least 1.

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// Returns the ranges to read for a part of a tensor, which must lie within the tensor. Each byte of
// the part is read once, in ascending order of file and place. Neighbouring ranges are joined.
std::vector<ByteRange> reads_for(const SavedTensor& tensor, const Box& wanted);

}  // namespace accel::weights
