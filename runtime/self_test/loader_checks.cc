#include <torch/data.h>
#include <torch/types.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "accel/seedable_sampler.h"
#include "runtime/self_test/checks.h"

namespace accel::self_test {
namespace {

using Numbers = std::vector<std::int64_t>;

// Sample i is the number i.
struct Counting : torch::data::datasets::BatchDataset<Counting, torch::Tensor> {
  explicit Counting(std::size_t numbers) : count(numbers) {}
  torch::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    return torch::tensor(Numbers(indices.begin(), indices.end()), torch::kLong);
  }
  std::optional<std::size_t> size() const override { return count; }
  std::size_t count;
};

std::size_t sample_count(const Accelerator& accelerator) {
  return 32 * static_cast<std::size_t>(accelerator.num_processes());
}

// Returns what all ranks together see in an epoch, in the order of the steps.
template <typename Loader>
Numbers epoch_of(const Accelerator& accelerator, Loader& loader) {
  Numbers seen;
  for (const torch::Tensor& batch : loader) {
    const torch::Tensor all = accelerator.gather_for_metrics(batch).cpu();
    seen.insert(seen.end(), all.data_ptr<std::int64_t>(),
                all.data_ptr<std::int64_t>() + all.numel());
  }
  return seen;
}

template <typename Sampler>
void each_sample_once(bool split_batches, bool dispatch, bool shuffled) {
  Accelerator accelerator({.split_batches = split_batches, .dispatch_batches = dispatch});
  const std::size_t samples = sample_count(accelerator);
  const std::size_t processes = static_cast<std::size_t>(accelerator.num_processes());
  auto loader = accelerator.prepare(
      make_data_loader<Sampler>(Counting(samples), split_batches ? 8 * processes : 8));
  Numbers seen = epoch_of(accelerator, loader);
  Numbers expected(samples);
  std::iota(expected.begin(), expected.end(), 0);
  const std::string how = std::string(shuffled ? "shuffled" : "sequential") +
                          (split_batches ? ", split batches" : "") +
                          (dispatch ? ", read by rank 0" : "");
  expect(!shuffled || samples < 32 || seen != expected, "a loader was not shuffled: " + how);
  if (shuffled) std::sort(seen.begin(), seen.end());
  expect(seen == expected, "the ranks did not see each sample once: " + how);
}

void every_sample_is_seen_once() {
  for (const bool dispatch : {false, true}) {
    for (const bool split_batches : {false, true}) {
      each_sample_once<torch::data::samplers::SequentialSampler>(split_batches, dispatch, false);
      each_sample_once<torch::data::samplers::RandomSampler>(split_batches, dispatch, true);
    }
  }
}

Numbers seeded_order(std::uint64_t data_seed, std::size_t epoch) {
  Accelerator accelerator({.use_seedable_sampler = true, .data_seed = data_seed});
  auto loader = accelerator.prepare(make_data_loader<torch::data::samplers::RandomSampler>(
      Counting(sample_count(accelerator)), 8));
  loader.set_epoch(epoch);
  return epoch_of(accelerator, loader);
}

void seeds_decide_the_order() {
  for (const std::size_t epoch : {0, 1, 2}) {
    expect(seeded_order(42, epoch) == seeded_order(42, epoch),
           "the same seed gave two orders in epoch " + std::to_string(epoch));
  }
  expect(seeded_order(42, 0) != seeded_order(42, 1), "two epochs have the same order");
  expect(seeded_order(42, 0) != seeded_order(43, 0), "two seeds gave the same order");
}

}  // namespace

std::vector<Check> loader_checks() {
  return {{"loaders yield every sample once", every_sample_is_seen_once},
          {"the seed decides the order of the samples", seeds_decide_the_order}};
}

}  // namespace accel::self_test
