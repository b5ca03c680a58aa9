// Tensors in files of safetensors.
#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/checkpoint/file_reader.h"
#include "runtime/core/safetensors.h"

namespace accel {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// A module's parameters and buffers, named and in the order of a state dict of Python's.
NamedTensors state_of(const torch::nn::Module& module);

// The same without further names of one tensor: of tied weights the first name stays.
NamedTensors without_tied(const NamedTensors& tensors);

// What a file of these tensors holds. It refers to memory of the tensors that are contiguous and on
// the CPU, and has copies of the others.
class TensorFile {
 public:
  // Throws std::invalid_argument for a dtype that the format lacks.
  explicit TensorFile(const NamedTensors& tensors);

  std::uint64_t size() const { return header_.data_begin + header_.data_size; }
  std::vector<std::string_view> parts() const;

 private:
  SafetensorsHeader header_;
  std::string header_bytes_;
  std::vector<torch::Tensor> tensors_;  // In the order of the header.
};

// Reads the tensors of a file. Thread-safe.
class TensorFileReader {
 public:
  // Reads the header. Throws CheckpointError.
  explicit TensorFileReader(std::filesystem::path file);

  const SafetensorsHeader& header() const { return header_; }
  const std::filesystem::path& file() const { return file_.file(); }

  // The tensor as it is in the file.
  torch::Tensor read(const SafetensorsEntry& entry) const;

 private:
  friend void read_tensors(const std::vector<struct TensorRead>& reads);
  std::uint64_t position(const SafetensorsEntry& entry) const;

  FileReader file_;
  SafetensorsHeader header_;
};

// Fills `target`, of whatever dtype and device, with a tensor of a file.
struct TensorRead {
  const TensorFileReader* file;
  const SafetensorsEntry* entry;
  torch::Tensor target;
};

// Throws CheckpointError if a shape differs.
void check_shapes(const std::vector<TensorRead>& reads);

// Carries all of them out, whose shapes were checked, several at a time, straight from the file
// where that needs no conversion. Throws CheckpointError if a file ends early.
void read_tensors(const std::vector<TensorRead>& reads);

}  // namespace accel
