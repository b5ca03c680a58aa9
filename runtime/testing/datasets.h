// Datasets of numbers for tests of data loaders. Includes what these tests need of LibTorch.
#pragma once

#include <torch/data.h>
#include <torch/types.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/core/batch_sampler_shard.h"

namespace accel::runtime {

using Values = std::vector<std::int64_t>;

inline Values values(const torch::Tensor& tensor) {
  const torch::Tensor here = tensor.cpu().contiguous();
  return {here.data_ptr<std::int64_t>(), here.data_ptr<std::int64_t>() + here.numel()};
}

// A dataset in which sample i is the number i.
struct Numbers : torch::data::datasets::BatchDataset<Numbers, torch::Tensor> {
  explicit Numbers(std::size_t numbers) : count(numbers) {}
  torch::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    return torch::tensor(std::vector<std::int64_t>(indices.begin(), indices.end()), torch::kLong);
  }
  std::optional<std::size_t> size() const override { return count; }
  std::size_t count;
};

// The same numbers, as a stream.
struct NumberStream : torch::data::datasets::StatefulDataset<NumberStream, torch::Tensor> {
  explicit NumberStream(std::size_t numbers, bool has_size = true)
      : count(numbers), sized(has_size) {}
  std::optional<torch::Tensor> get_batch(std::size_t size) override {
    const std::size_t begin = std::exchange(at, std::min(count, at + size));
    if (begin == at) return std::nullopt;
    return torch::arange(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(at));
  }
  std::optional<std::size_t> size() const override {
    return sized ? std::optional(count) : std::nullopt;
  }
  void reset() override { at = 0; }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}
  std::size_t count, at = 0;
  bool sized;
};

// A dataset like Numbers that counts the samples that are read, and throws at sample `fails_at`.
struct MapNumbers : torch::data::datasets::BatchDataset<MapNumbers, torch::Tensor> {
  explicit MapNumbers(std::size_t size) : count(size) {}
  torch::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    for (const std::size_t index : indices) {
      if (index == fails_at) throw std::out_of_range("the sample is torn");
    }
    *read += indices.size();
    return torch::tensor(std::vector<std::int64_t>(indices.begin(), indices.end()), torch::kLong);
  }
  std::optional<std::size_t> size() const override { return count; }
  std::size_t count, fails_at = 1'000'000;
  std::shared_ptr<std::atomic<std::size_t>> read = std::make_shared<std::atomic<std::size_t>>(0);
};

// A stream of `size` numbers that starts at 100 * epoch. Each call returns at most `piece` numbers.
// The stream throws after `fails_after` numbers.
struct StreamNumbers : torch::data::datasets::StatefulDataset<StreamNumbers, torch::Tensor> {
  explicit StreamNumbers(std::size_t size, std::size_t most = 1000) : count(size), piece(most) {}
  std::optional<torch::Tensor> get_batch(std::size_t size) override {
    if (at >= fails_after) throw std::runtime_error("the file is torn");
    const std::size_t begin = at;
    at = std::min(count, at + std::min(size, piece));
    if (begin == at) return std::nullopt;
    const auto from = static_cast<std::int64_t>(100 * epoch);
    return torch::arange(from + static_cast<std::int64_t>(begin),
                         from + static_cast<std::int64_t>(at));
  }
  std::optional<std::size_t> size() const override { return count; }
  void set_epoch(std::size_t number) { epoch = number; }
  void reset() override { at = 0; }
  void save(torch::serialize::OutputArchive&) const override {}
  void load(torch::serialize::InputArchive&) override {}
  std::size_t count, piece, at = 0, epoch = 0, fails_after = 1'000'000;
};

// A batch sampler that yields batches of 1, 2, 3, 1, 2, 3, ... samples.
struct Bags {
  void reset() { at = batches = 0; }
  std::optional<IndexBatch> next() {
    if (at == count) return std::nullopt;
    IndexBatch bag(std::min(count - at, batches++ % 3 + 1));
    std::iota(bag.begin(), bag.end(), at);
    at += bag.size();
    return bag;
  }
  std::size_t count, at = 0, batches = 0;
};

}  // namespace accel::runtime
