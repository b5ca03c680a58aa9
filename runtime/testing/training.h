// What the trainings of tests are made of: LibTorch's layers and optimizers, and numbers.
#pragma once

#include <torch/data/datasets/base.h>
#include <torch/data/datasets/stateful.h>
#include <torch/data/samplers.h>
#include <torch/nn.h>
#include <torch/optim.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace accel {

// Sample i is the number i.
struct Numbers : torch::data::datasets::BatchDataset<Numbers, torch::Tensor> {
  explicit Numbers(std::size_t numbers) : count(numbers) {}
  torch::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    return torch::tensor(std::vector<std::int64_t>(indices.begin(), indices.end()), torch::kLong);
  }
  std::optional<std::size_t> size() const override { return count; }
  std::size_t count;
};

// The same, as a stream.
struct NumberStream : torch::data::datasets::StatefulDataset<NumberStream, torch::Tensor> {
  explicit NumberStream(std::size_t numbers) : count(numbers) {}
  std::optional<torch::Tensor> get_batch(std::size_t size) override {
    const std::size_t begin = std::exchange(at, std::min(count, at + size));
    if (begin == at) return std::nullopt;
    return torch::arange(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(at));
  }
  std::optional<std::size_t> size() const override { return count; }
  void reset() override { at = 0; }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}
  std::size_t count, at = 0;
};

}  // namespace accel
