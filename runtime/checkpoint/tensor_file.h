// Reads and writes tensors as safetensors files, byte for byte as Python's safetensors does.
#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/checkpoint/file_reader.h"
#include "weights/core/safetensors.h"

namespace accel::runtime {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// dtype_of() returns the format's dtype for a tensor, and type_of() LibTorch's dtype for one of the
// format. dtype_of() throws std::invalid_argument, which has `name`, if the format lacks the dtype.
weights::SafetensorsDtype dtype_of(const std::string& name, const torch::Tensor& tensor);
torch::ScalarType type_of(weights::SafetensorsDtype dtype);

// Returns a module's parameters and buffers, named and ordered as in a state_dict of Python.
NamedTensors state_of(const torch::nn::Module& module);
// Returns the same tensors with their graphs. Runs no operator, because any operator would gather
// a sharded tensor.
NamedTensors attached_state_of(const torch::nn::Module& module);

// Returns `tensors` without second names for the same tensor. A tied weight keeps its first name.
// Two tensors are the same if they are the same view of the same memory. Different views of one
// storage are all kept, so that none is lost (docs/decisions/0016).
NamedTensors without_tied(const NamedTensors& tensors);

// The bytes of a safetensors file. Refers to the memory of tensors that are contiguous and on the
// CPU. They must not change while this object lives. Holds copies of all other tensors.
class TensorFile {
 public:
  // Throws std::invalid_argument for a dtype that the format lacks.
  explicit TensorFile(const NamedTensors& tensors);

  // The size of the file in bytes.
  std::uint64_t size() const { return header_.data_begin + header_.data_size; }
  // The bytes of the file: the header, then each tensor.
  std::vector<std::string_view> parts() const;

 private:
  weights::SafetensorsHeader header_;
  std::string header_bytes_;
  std::vector<torch::Tensor> tensors_;  // In the order of the header's entries.
};

// Reads the tensors of one file. Thread-safe.
class TensorFileReader {
 public:
  // Reads the header. Throws CheckpointError if the file cannot be read or is
  // not a safetensors file.
  explicit TensorFileReader(std::filesystem::path file);

  const weights::SafetensorsHeader& header() const { return header_; }
  const std::filesystem::path& file() const { return file_.file(); }

  // Returns a tensor on the CPU, with the dtype that it has in the file. Throws CheckpointError.
  torch::Tensor read(const weights::SafetensorsEntry& entry) const;

 private:
  friend void read_tensors(const std::vector<struct TensorRead>& reads);
  std::uint64_t position(const weights::SafetensorsEntry& entry) const;

  FileReader file_;
  weights::SafetensorsHeader header_;
};

// A tensor of a file that is read into `target`, which may have another dtype and device.
struct TensorRead {
  const TensorFileReader* file;
  const weights::SafetensorsEntry* entry;
  torch::Tensor target;
};

// Throws CheckpointError, which names the tensor and both shapes, if a shape differs.
void check_shapes(const std::vector<TensorRead>& reads);

// Reads all of these tensors, several at a time. Their shapes must have been checked. A tensor that
// needs no conversion is read straight into its target. Throws CheckpointError if a file cannot be
// read or ends early.
void read_tensors(const std::vector<TensorRead>& reads);

}  // namespace accel::runtime
