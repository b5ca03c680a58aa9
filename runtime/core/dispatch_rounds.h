// Forms global batches for dispatched loaders, where rank 0 reads each batch and sends every
// process its slice.
#pragma once

#include <cstddef>
#include <optional>

#include "runtime/core/batch_sampler_shard.h"

namespace accel::runtime {

// The global batches that rank 0 dispatches. Each one joins num_processes inner batches (one if
// batches are split), and each process gets an equal slice of it. With drop_last, a last global
// batch of fewer inner batches is dropped. Otherwise each global batch is padded with the epoch's
// first samples to a multiple of num_processes. This takes less padding than BatchSamplerShard,
// which fills every batch, because here the samples that are left are divided among all
// processes. Without even_batches, a round in mid-stream may be too short to give each process a
// sample. It is then joined with the batches that follow, because all processes must remain at
// the same step. Not thread-safe.
class DispatchRounds {
 public:
  // `first` are the epoch's first batches, at most a round of them, if `inner` begins later in the
  // epoch. They are not yielded, but padding repeats them. Throws std::invalid_argument as
  // check_shard_options() does.
  DispatchRounds(const ShardOptions& options, BatchSamplerShard::Source inner,
                 std::vector<IndexBatch> first = {});

  // Returns the next global batch, padding included, or nullopt at the end.
  std::optional<ShardedBatch> next();

 private:
  const ShardOptions options_;
  const BatchSamplerShard::Source inner_;
  IndexBatch first_;  // The samples of the epoch's first round, which padding repeats.
};

// Returns the number of batches that process_index receives. The inner batches are those of
// shard_length().
std::size_t dispatch_length(const ShardOptions& options, std::size_t inner_batches,
                            std::size_t last_batch_size);

}  // namespace accel::runtime
