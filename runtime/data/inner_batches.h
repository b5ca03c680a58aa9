#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/batch_sampler_shard.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/data_source.h"
#include "runtime/data/sampler_rng.h"

namespace accel {

// The batches of indices of one epoch, as the sampler gives them. Not thread-safe.
template <typename Source>
class InnerBatches {
 public:
  InnerBatches(Source& source, const EpochStart& start) : source_(source), rng_(start.seed) {
    rng_.start(start.number);
    rng_.run([&] {
      auto& sampler = source_.sampler;
      if constexpr (requires { sampler.set_epoch(start.number); }) sampler.set_epoch(start.number);
      if constexpr (batch_sampler<decltype(source.sampler)>) {
        sampler.reset();
      } else {
        sampler.reset(std::nullopt);
      }
    });
  }

  // The next batch, or std::nullopt at the end.
  std::optional<IndexBatch> next() {
    if (!all_drawn_) return draw();
    if (drawn_.empty()) return std::nullopt;
    IndexBatch batch = std::move(drawn_.front());
    drawn_.pop_front();
    return batch;
  }

  // Passes over the first `samples` indices. Returns the first `keep` batches of them.
  std::vector<IndexBatch> skip(std::size_t samples, std::size_t keep) {
    std::vector<IndexBatch> first;
    while (samples > 0) {
      std::optional<IndexBatch> batch = draw();
      if (!batch) break;
      const auto cut =
          batch->begin() + static_cast<std::ptrdiff_t>(std::min(samples, batch->size()));
      samples -= static_cast<std::size_t>(cut - batch->begin());
      rest_.assign(cut, batch->end());
      if (first.size() < keep) first.emplace_back(batch->begin(), cut);
    }
    return first;
  }

  // Draws all that is left now, and no random number later.
  void draw_all() {
    while (std::optional<IndexBatch> batch = draw()) drawn_.push_back(*std::move(batch));
    all_drawn_ = true;
  }

 private:
  std::optional<IndexBatch> draw() {
    IndexBatch batch = std::exchange(rest_, {});
    if constexpr (batch_sampler<decltype(source_.sampler)>) {
      if (!batch.empty()) return batch;
      return rng_.run([&] { return source_.sampler.next(); });
    } else {
      const std::size_t size = source_.options.batch_size;
      std::optional<IndexBatch> more =
          rng_.run([&] { return source_.sampler.next(size - batch.size()); });
      if (more) batch.insert(batch.end(), more->begin(), more->end());
      if (batch.empty() || (source_.drop_last() && batch.size() < size)) return std::nullopt;
      return batch;
    }
  }

  Source& source_;
  SamplerRng rng_;
  IndexBatch rest_;  // Drawn, and not passed over.
  bool all_drawn_ = false;
  std::deque<IndexBatch> drawn_;
};

}  // namespace accel
