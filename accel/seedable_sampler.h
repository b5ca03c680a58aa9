#pragma once

#include <torch/data/samplers/base.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/data/sampler_rng.h"

namespace accel {

// Random orders that the epoch's number and a seed determine, those of accelerate's
// SeedableRandomSampler: epoch e is drawn by draw_random_order() from torch's CPU generator seeded
// with e + data_seed, which is the same on all ranks. accel's loaders set the epoch. Not
// thread-safe.
class SeedableRandomSampler : public torch::data::samplers::Sampler<> {
 public:
  struct Options {
    std::uint64_t data_seed = 0;
    bool replacement = false;
    // Indices of an epoch; by default the dataset's size.
    std::optional<std::size_t> num_samples;
  };

  // `dataset_size` is at least 1. Throws std::invalid_argument.
  SeedableRandomSampler(std::size_t dataset_size, const Options& options);

  // The next reset() begins this epoch.
  void set_epoch(std::size_t epoch) { epoch_ = epoch; }

  void reset(std::optional<std::size_t> new_dataset_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  std::size_t size() const { return options_.num_samples.value_or(dataset_size_); }

  // The epoch and how far in it.
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;

 private:
  std::size_t dataset_size_;
  Options options_;
  std::size_t epoch_ = 0;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
};

}  // namespace accel
