#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/batch_sampler_shard.h"
#include "runtime/core/step_samples.h"
#include "runtime/data/batch_stream.h"
#include "runtime/data/inner_batches.h"

namespace accel::runtime {

// The indices that this process reads in one step.
struct IndexRequest {
  IndexBatch indices;
  StepSamples samples;
};

// Divides the batches of a sampler among the processes. Not thread-safe.
class IndexRequests {
 public:
  // With `dispatched`, a request is for all processes together, because rank 0 reads for all. With
  // `draw_all`, the sampler draws the whole epoch now.
  IndexRequests(IndexSampler sampler, const ShardOptions& options, const EpochStart& start,
                bool dispatched, bool draw_all);
  IndexRequests(const IndexRequests&) = delete;
  IndexRequests& operator=(const IndexRequests&) = delete;

  // Returns the next request, or std::nullopt at the end.
  std::optional<IndexRequest> next();

 private:
  template <typename Shard>
  void shard_with(const ShardOptions& options, std::vector<IndexBatch> first);

  InnerBatches inner_;
  std::function<std::optional<ShardedBatch>()> next_share_;
  std::size_t seen_samples_;
};

}  // namespace accel::runtime
