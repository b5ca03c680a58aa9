#include "accel/seedable_sampler.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/serialize/archive.h>

#include <stdexcept>

namespace accel {

SeedableRandomSampler::SeedableRandomSampler(std::size_t dataset_size, const Options& options)
    : dataset_size_(dataset_size), options_(options) {
  if (dataset_size_ == 0 || size() == 0) {
    throw std::invalid_argument(
        "SeedableRandomSampler: dataset_size and num_samples should be at least 1");
  }
}

void SeedableRandomSampler::reset(std::optional<std::size_t> new_dataset_size) {
  dataset_size_ = new_dataset_size.value_or(dataset_size_);
  const at::Generator generator = at::detail::createCPUGenerator(options_.data_seed + epoch_);
  order_ = runtime::draw_random_order(generator, dataset_size_, size(), options_.replacement);
  at_ = 0;
}

std::optional<std::vector<std::size_t>> SeedableRandomSampler::next(std::size_t batch_size) {
  const std::size_t end = std::min(order_.size(), at_ + batch_size);
  if (at_ == end) return std::nullopt;
  std::vector<std::size_t> batch(order_.begin() + static_cast<std::ptrdiff_t>(at_),
                                 order_.begin() + static_cast<std::ptrdiff_t>(end));
  at_ = end;
  return batch;
}

void SeedableRandomSampler::save(torch::serialize::OutputArchive& archive) const {
  archive.write("epoch", c10::IValue(static_cast<std::int64_t>(epoch_)));
  archive.write("index", c10::IValue(static_cast<std::int64_t>(at_)));
}

void SeedableRandomSampler::load(torch::serialize::InputArchive& archive) {
  c10::IValue epoch, index;
  archive.read("epoch", epoch);
  archive.read("index", index);
  epoch_ = static_cast<std::size_t>(epoch.toInt());
  reset();
  at_ = std::min(order_.size(), static_cast<std::size_t>(index.toInt()));
}

}  // namespace accel
