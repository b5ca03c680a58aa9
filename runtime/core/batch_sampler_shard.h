// Which sample indices each process gets from one stream of batches. Every process walks the same
// inner stream and picks its own part, so nothing is communicated. No tensor, no thread, no clock.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace accel {

using IndexBatch = std::vector<std::size_t>;

struct ShardOptions {
  std::size_t num_processes = 1;
  std::size_t process_index = 0;
  // Samples per inner batch; std::nullopt when the inner batches differ in size on purpose.
  std::optional<std::size_t> batch_size;
  // True: each inner batch is divided among the processes. False: whole inner batches are dealt out
  // in turn.
  bool split_batches = false;
  // True: every process gets the same number of equally long batches; what is missing at the end
  // repeats the first samples. False: nothing is repeated, and some processes get less.
  bool even_batches = true;
  // True: a last round with fewer inner batches than processes is left out. That a short last batch
  // is left out as well is the inner sampler's part.
  bool drop_last = false;
};

// Throws std::invalid_argument with the reason if the options contradict each other.
void check_shard_options(const ShardOptions& options);

// One step of one process.
struct ShardedBatch {
  IndexBatch indices;
  // Samples that all processes hold together in this step without the repeated ones. Concatenated
  // in process order, the repeated samples are what lies beyond this number.
  std::size_t real_samples = 0;
  // With the repeated ones; the same for all processes as well, also where their batches differ in
  // size.
  std::size_t padded_samples = 0;
};

// Deals out an inner stream of batches:
//   no split, drop_last   complete rounds of num_processes batches; batch k goes to process k mod N
//   no split, even        the last round is completed with the stream's first samples, over again
//   no split, not even    batch k goes to process k mod N, however long it is
//   split                 process p gets the p-th N-th of each batch. A short batch is first
//                         completed to batch_size (even). Else (not even) the last one is divided
//                         as it is, and some processes may get nothing; one in mid-stream is
//                         divided among all, put together with the next if it has fewer samples
//                         than there are processes, so that all processes stay at the same step
// Inner batches may be shorter than batch_size anywhere in the stream: no index is ever lost.
// Without a batch_size, the last round is completed with whole batches instead of samples.
//
// Not thread-safe.
class BatchSamplerShard {
 public:
  // The inner stream: the next batch (never empty), or std::nullopt once and for all at the end.
  using Source = std::function<std::optional<IndexBatch>()>;

  // `first`: the batches that went before in the epoch, at most a round, if `inner` begins later.
  // Throws std::invalid_argument as check_shard_options() does.
  BatchSamplerShard(const ShardOptions& options, Source inner, std::vector<IndexBatch> first = {});

  // This process's next batch, or std::nullopt at the end.
  std::optional<ShardedBatch> next();

 private:
  std::optional<ShardedBatch> next_of_round();
  std::optional<ShardedBatch> next_slice();
  std::optional<IndexBatch> pull();
  void complete(std::vector<IndexBatch>& round) const;

  const ShardOptions options_;
  Source inner_;
  std::optional<IndexBatch>
      ahead_;  // One batch beyond those handed out, to know which round is the last.
  std::vector<IndexBatch>
      first_;  // The first batches of the epoch: a round (or one when splitting), to repeat from.
};

// The number of batches that next() yields over an inner stream of `inner_batches` batches, all of
// batch_size samples except for the last one, which has `last_batch_size`.
std::size_t shard_length(const ShardOptions& options, std::size_t inner_batches,
                         std::size_t last_batch_size);

}  // namespace accel
