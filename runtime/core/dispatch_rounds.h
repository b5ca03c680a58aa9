// The batches that one process reads for all, from one stream of batches of indices.
#pragma once

#include <cstddef>
#include <optional>

#include "runtime/core/batch_sampler_shard.h"

namespace accel {

// Puts num_processes inner batches (one, when splitting) together to a global batch, which each
// process will get an equal slice of. The last one may be made of fewer samples: it is left out
// (drop_last and an incomplete round), or completed with the first samples of the stream to a
// multiple of num_processes. Where BatchSamplerShard would repeat samples until every batch is
// full, this divides what there is. Without even_batches, a round in mid-stream that is too short
// for all processes to get some of it is put together with the batches that follow. Not
// thread-safe.
class DispatchRounds {
 public:
  // `first`: the batches that went before in the epoch, at most a round, if `inner` begins later.
  // Throws std::invalid_argument as check_shard_options() does.
  DispatchRounds(const ShardOptions& options, BatchSamplerShard::Source inner,
                 std::vector<IndexBatch> first = {});

  // The next global batch, or std::nullopt at the end.
  std::optional<ShardedBatch> next();

 private:
  const ShardOptions options_;
  const BatchSamplerShard::Source inner_;
  IndexBatch first_;  // To repeat from.
};

// The number of batches that each process gets of inner batches as in shard_length().
std::size_t dispatch_length(const ShardOptions& options, std::size_t inner_batches,
                            std::size_t last_batch_size);

}  // namespace accel
