// The memory that a model's parameters take, from a description of the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::cli {

struct ModelSizes {
  uint64_t total = 0;        // Bytes of all parameters and buffers, with floats in 32 bits.
  uint64_t largest = 0;      // Bytes of the largest layer: a block, or a module without children.
  std::string largest_name;  // Empty if there are no tensors.
};

struct TensorSize {
  std::string name;  // As in a state dict: "encoder.layer.0.attention.self.query.weight".
  uint64_t elements = 0;
  uint64_t integer_bytes = 0;  // Size of an element if it is an integer. 0 for floats.
  std::string layer = "";      // The layer of the tensor. If empty, the name decides.
};

// Adds up the sizes of tensors. The layer of a tensor is the part of its name up to the first
// number ("layers.3") or up to "embeddings". If the name has neither, its layer is the module that
// has the tensor. A name without dots is its own layer. INVALID_ARGUMENT: the sizes exceed 2^63.
absl::StatusOr<ModelSizes> SizesOfTensors(const std::vector<TensorSize>& tensors);

// Reads the header of a safetensors file: the JSON after its length. `file` is the name for
// messages. INVALID_ARGUMENT: `json` is malformed.
absl::StatusOr<std::vector<TensorSize>> ReadSafetensorsHeader(absl::string_view file,
                                                              absl::string_view json);

// Returns the names of the files of a model.safetensors.index.json, each once. INVALID_ARGUMENT:
// `json` is malformed, or a name leads out of the folder.
absl::StatusOr<std::vector<std::string>> ReadIndex(absl::string_view file, absl::string_view json);

}  // namespace accel::cli
