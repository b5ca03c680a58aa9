// A random sampler whose orders equal those of Python's Accelerate.
#pragma once

#include <torch/data/samplers/base.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/data/sampler_rng.h"

namespace accel {

// A random sampler whose order depends only on the epoch and a seed, so it is the same on all
// ranks. The orders are those of Accelerate's SeedableRandomSampler: epoch e is drawn from torch's
// CPU generator, seeded with e + data_seed. accel's loaders set the epoch. Not thread-safe.
class SeedableRandomSampler : public torch::data::samplers::Sampler<> {
 public:
  struct Options {
    std::uint64_t data_seed = 0;
    bool replacement = false;
    // Number of indices in an epoch. If unset, the number of samples in the dataset.
    std::optional<std::size_t> num_samples;
  };

  // Throws std::invalid_argument if dataset_size or num_samples is 0.
  SeedableRandomSampler(std::size_t dataset_size, const Options& options);

  // Sets the epoch that the next reset() draws.
  void set_epoch(std::size_t epoch) { epoch_ = epoch; }

  void reset(std::optional<std::size_t> new_dataset_size = std::nullopt) override;
  std::optional<std::vector<std::size_t>> next(std::size_t batch_size) override;
  std::size_t size() const { return options_.num_samples.value_or(dataset_size_); }

  // Save and load the epoch and the number of indices of the epoch that were drawn.
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
