#include "runtime/data/inner_batches.h"

#include <algorithm>
#include <utility>

namespace accel::runtime {

InnerBatches::InnerBatches(IndexSampler sampler, const EpochStart& start)
    : sampler_(std::move(sampler)), rng_(start.seed) {
  rng_.start(start.number);
  rng_.run([&] { sampler_.reset(start.number); });
}

std::optional<IndexBatch> InnerBatches::next() {
  if (!all_drawn_) return draw();
  if (drawn_.empty()) return std::nullopt;
  IndexBatch batch = std::move(drawn_.front());
  drawn_.pop_front();
  return batch;
}

std::vector<IndexBatch> InnerBatches::skip(std::size_t samples, std::size_t keep) {
  std::vector<IndexBatch> first;
  while (samples > 0) {
    std::optional<IndexBatch> batch = draw();
    if (!batch) break;
    const auto cut = batch->begin() + static_cast<std::ptrdiff_t>(std::min(samples, batch->size()));
    samples -= static_cast<std::size_t>(cut - batch->begin());
    rest_.assign(cut, batch->end());
    if (first.size() < keep) first.emplace_back(batch->begin(), cut);
  }
  return first;
}

void InnerBatches::draw_all() {
  while (std::optional<IndexBatch> batch = draw()) drawn_.push_back(*std::move(batch));
  all_drawn_ = true;
}

std::optional<IndexBatch> InnerBatches::draw() {
  IndexBatch batch = std::exchange(rest_, {});
  if (!sampler_.batch_size) {
    if (!batch.empty()) return batch;
    return rng_.run([&] { return sampler_.next(0); });
  }
  const std::size_t size = *sampler_.batch_size;
  const auto more = rng_.run([&] { return sampler_.next(size - batch.size()); });
  if (more) batch.insert(batch.end(), more->begin(), more->end());
  if (batch.empty() || (sampler_.drop_last && batch.size() < size)) return std::nullopt;
  return batch;
}

}  // namespace accel::runtime
