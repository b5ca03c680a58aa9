// Shards one stream of index batches over the processes. Every process walks the same inner stream
// and picks its own part by counting, so nothing is communicated. No tensor, no thread, no clock.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace accel::runtime {

using IndexBatch = std::vector<std::size_t>;

struct ShardOptions {
  std::size_t num_processes = 1;
  std::size_t process_index = 0;
  // Samples per inner batch. If nullopt, the inner batches differ in size on purpose.
  std::optional<std::size_t> batch_size;
  // If true, each inner batch is divided among the processes. If false, whole inner batches go to
  // the processes in turn.
  bool split_batches = false;
  // If true, every process gets the same number of batches, and the end of the stream is padded
  // with the first samples of the epoch. If only the last inner batch is short, all batches have
  // the same size. If false, no sample is repeated, and some processes get less.
  bool even_batches = true;
  // If true, a last round with fewer inner batches than processes is dropped. The inner sampler
  // decides whether a short last batch is dropped.
  bool drop_last = false;
};

// Throws std::invalid_argument with the reason if the options contradict each other: there is no
// such process, batch_size is 0, or split_batches has no batch_size that divides evenly.
void check_shard_options(const ShardOptions& options);

// The batch of one process in one step.
struct ShardedBatch {
  IndexBatch indices;
  // The number of samples that all processes hold in this step, without the repeated ones. It is
  // the same on all processes. If the batches are concatenated in process order, the samples
  // beyond the first real_samples are the repeated ones, so gather_for_metrics() can cut them off.
  std::size_t real_samples = 0;
  // The number of samples including the repeated ones. It is the same on all processes, even if
  // batches differ in size.
  std::size_t padded_samples = 0;
};

// Yields one process's shard of an inner stream of batches:
//
// clang-format off
//   no split, drop_last   Complete rounds of N = num_processes batches: batch k to process k mod N.
//   no split, even        Batch k goes to process k mod N. The last round is padded with the
//                         epoch's first samples, repeatedly if they are too few.
//   no split, not even    Batch k goes to process k mod N. Nothing is padded.
//   split, even           Process p gets the p-th of N equal slices of each batch. A short batch is
//                         first padded to batch_size.
//   split, not even       Slices as above, but nothing is padded. Of a short last batch, slices
//                         stay batch_size / N long, and the last processes get less or nothing.
//                         A short batch in mid-stream is divided among all processes, together
//                         with the next batches if it has fewer samples than N.
// clang-format on
//
// Inner batches may be shorter than batch_size anywhere in the stream. Without drop_last, no
// index is ever lost. Without a batch_size, the last round is padded with whole batches instead
// of samples. The batches are those of Accelerate's BatchSamplerShard, except where that class
// loses samples (docs/decisions/0013).
//
// Not thread-safe.
class BatchSamplerShard {
 public:
  // Returns the next inner batch, which is never empty, or nullopt from the end on.
  using Source = std::function<std::optional<IndexBatch>()>;

  // `first` are the epoch's first batches, at most a round of them, if `inner` begins later in the
  // epoch. They are not yielded, but padding repeats them. Throws std::invalid_argument as
  // check_shard_options() does.
  BatchSamplerShard(const ShardOptions& options, Source inner, std::vector<IndexBatch> first = {});

  // Returns this process's next batch, or nullopt at the end.
  std::optional<ShardedBatch> next();

 private:
  std::optional<ShardedBatch> next_of_round();
  std::optional<ShardedBatch> next_slice();
  std::optional<IndexBatch> pull();
  void pad(std::vector<IndexBatch>& round) const;

  const ShardOptions options_;
  Source inner_;
  // The next inner batch. Reading one batch ahead tells whether a round is the last one.
  std::optional<IndexBatch> ahead_;
  // The epoch's first round (one batch if batches are split), which padding repeats.
  std::vector<IndexBatch> first_;
};

// Returns the number of batches that next() yields over an inner stream of `inner_batches` batches,
// all of batch_size samples except the last one, which has `last_batch_size`.
std::size_t shard_length(const ShardOptions& options, std::size_t inner_batches,
                         std::size_t last_batch_size);

}  // namespace accel::runtime
