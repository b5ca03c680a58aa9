// Tensors in files of safetensors.
#pragma once

#include <torch/nn/module.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

  std::uint64_t data_size() const { return header_.data_size; }

  // Copies the tensors to `memory`, data_size() bytes, and from now on refers to that.
  void copy_to(char* memory);

  std::vector<std::string_view> parts() const;

 private:
  SafetensorsHeader header_;
  std::string header_bytes_;
  std::vector<torch::Tensor> tensors_;  // In the order of the header.
};

// Reads the tensors of a file. Not thread-safe.
class TensorFileReader {
 public:
  // Reads the header. Throws CheckpointError.
  explicit TensorFileReader(std::filesystem::path file);
  ~TensorFileReader();
  TensorFileReader(const TensorFileReader&) = delete;
  TensorFileReader& operator=(const TensorFileReader&) = delete;

  const SafetensorsHeader& header() const { return header_; }

  // Fills `target`, of whatever dtype and device, straight from the file where that needs no
  // conversion. Throws CheckpointError if the shape differs or the file ends early.
  void read(const SafetensorsEntry& entry, torch::Tensor target) const;

  // The tensor as it is in the file.
  torch::Tensor read(const SafetensorsEntry& entry) const;

 private:
  void read_bytes(const SafetensorsEntry& entry, void* to) const;

  std::filesystem::path file_;
  int fd_;
  SafetensorsHeader header_;
};

}  // namespace accel
