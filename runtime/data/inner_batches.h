#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/core/batch_sampler_shard.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/sampler_rng.h"

namespace accel::runtime {

// A sampler of indices, without its type. The sampler outlives this struct.
struct IndexSampler {
  // Begins an epoch.
  std::function<void(std::size_t epoch)> reset;
  // Returns the next batch of at most `count` indices, or std::nullopt at the end. A sampler that
  // makes the batches itself ignores `count`.
  std::function<std::optional<IndexBatch>(std::size_t count)> next;
  // Indices per batch. std::nullopt if the sampler makes the batches itself.
  std::optional<std::size_t> batch_size;
  // True if a short last batch is dropped. Has no effect without a batch_size.
  bool drop_last = false;
};

// The batches of one epoch as the sampler gives them, before they are divided among the processes.
// Not thread-safe.
class InnerBatches {
 public:
  InnerBatches(IndexSampler sampler, const EpochStart& start);

  // Returns the next batch, or std::nullopt at the end.
  std::optional<IndexBatch> next();

  // Skips the first `samples` indices. Returns the first `keep` batches that were skipped.
  std::vector<IndexBatch> skip(std::size_t samples, std::size_t keep);

  // Draws the rest of the epoch now, so that no random number is drawn later.
  void draw_all();

 private:
  std::optional<IndexBatch> draw();

  const IndexSampler sampler_;
  SamplerRng rng_;
  // The part of the last skipped batch that was not skipped.
  IndexBatch rest_;
  bool all_drawn_ = false;
  std::deque<IndexBatch> drawn_;
};

}  // namespace accel::runtime
