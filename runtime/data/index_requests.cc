#include "runtime/data/index_requests.h"

#include <memory>

#include "runtime/core/dispatch_rounds.h"

namespace accel::runtime {

IndexRequests::IndexRequests(IndexSampler sampler, const ShardOptions& options,
                             const EpochStart& start, bool dispatched, bool draw_all)
    : inner_(std::move(sampler), start), seen_samples_(start.samples) {
  // A short last round may repeat the first round's samples, so a resumed epoch needs them too.
  std::vector<IndexBatch> first =
      inner_.skip(start.samples, options.split_batches ? 1 : options.num_processes);
  if (draw_all) inner_.draw_all();
  if (dispatched) {
    shard_with<DispatchRounds>(options, std::move(first));
  } else {
    shard_with<BatchSamplerShard>(options, std::move(first));
  }
  for (std::size_t step = 0; step < start.steps; ++step) {
    if (const auto skipped = next_share_()) seen_samples_ += skipped->real_samples;
  }
}

template <typename Shard>
void IndexRequests::shard_with(const ShardOptions& options, std::vector<IndexBatch> first) {
  auto shard = std::make_shared<Shard>(
      options, [this] { return inner_.next(); }, std::move(first));
  next_share_ = [shard] { return shard->next(); };
}

std::optional<IndexRequest> IndexRequests::next() {
  std::optional<ShardedBatch> share = next_share_();
  if (!share) return std::nullopt;
  seen_samples_ += share->real_samples;
  return IndexRequest{.indices = std::move(share->indices),
                      .samples = {.real_samples = share->real_samples,
                                  .padded_samples = share->padded_samples,
                                  .seen_samples = seen_samples_}};
}

}  // namespace accel::runtime
