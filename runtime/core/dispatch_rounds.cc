#include "runtime/core/dispatch_rounds.h"

#include <utility>

#include "runtime/core/iterable_shard.h"

namespace accel::runtime {
namespace {

std::size_t batches_per_round(const ShardOptions& options) {
  return options.split_batches ? 1 : options.num_processes;
}

void append(IndexBatch& to, const IndexBatch& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

DispatchRounds::DispatchRounds(const ShardOptions& options, BatchSamplerShard::Source inner,
                               std::vector<IndexBatch> first)
    : options_(options), inner_(std::move(inner)) {
  check_shard_options(options_);
  for (const IndexBatch& batch : first) append(first_, batch);
}

std::optional<ShardedBatch> DispatchRounds::next() {
  ShardedBatch round;
  std::size_t batches = 0;
  while (batches < batches_per_round(options_) ||
         leaves_a_process_empty(options_, round.indices.size())) {
    const std::optional<IndexBatch> batch = inner_();
    if (!batch) break;
    append(round.indices, *batch);
    ++batches;
  }
  if (batches == 0) return std::nullopt;
  if (options_.drop_last && batches < batches_per_round(options_)) return std::nullopt;
  if (first_.empty()) first_ = round.indices;
  round.real_samples = round.indices.size();
  for (std::size_t at = 0; round.indices.size() % options_.num_processes != 0; ++at) {
    round.indices.push_back(first_[at % first_.size()]);
  }
  round.padded_samples = round.indices.size();
  return round;
}

std::size_t dispatch_length(const ShardOptions& options, std::size_t inner_batches,
                            std::size_t last_batch_size) {
  if (inner_batches == 0) return 0;
  const std::size_t per_round = batches_per_round(options);
  const std::size_t complete = inner_batches / per_round, rest = inner_batches % per_round;
  if (options.drop_last) return complete;
  if (options.even_batches) return complete + (rest > 0 ? 1 : 0);
  // If the last round is short, the last processes may get nothing of it. All inner batches before
  // its last one are full.
  const std::size_t rounds = complete + (rest > 0 ? 1 : 0);
  const std::size_t before = (inner_batches - (rounds - 1) * per_round - 1);
  const std::size_t samples = before * options.batch_size.value_or(1) + last_batch_size;
  return rounds - (dispatched_rows(options, samples) > 0 ? 0 : 1);
}

}  // namespace accel::runtime
