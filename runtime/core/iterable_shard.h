// Which samples each process gets from one stream that every process reads, or that one process
// reads for all. Decided by counting: nothing is communicated and no sample is looked at.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/core/batch_sampler_shard.h"

namespace accel {

// Samples [begin, end) of a round.
struct RowRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
};

// A batch made from the running round and, after that, from the stream's first round.
struct RoundShare {
  RowRange own;
  std::vector<RowRange> repeated;

  std::size_t size() const;
};

// A stream is read in rounds, each of which gives every process one batch:
//   no split   batch_size samples for each process
//   split      batch_size samples for all of them together
// The samples of a round, from one process to the next, stay in the stream's order.
//
// `options.batch_size` is set. Throws std::invalid_argument as check_shard_options() does.
std::size_t round_size(const ShardOptions& options);

// This process's batch of a round that holds `rows` samples (at least 1), or std::nullopt if it
// gets none. Only the last round may hold fewer than round_size(): it is left out (drop_last),
// completed with the `first_rows` samples of the first round over again (even_batches), or divided
// as it is.
std::optional<RoundShare> round_share(const ShardOptions& options, std::size_t rows,
                                      std::size_t first_rows);

// The whole round, for the process that reads for all, completed to a multiple of num_processes so
// that it divides into equal slices. As few samples as possible are repeated: a short round is
// divided among all processes. std::nullopt if it is left out.
std::optional<RoundShare> dispatched_round(const ShardOptions& options, std::size_t rows,
                                           std::size_t first_rows);

// What process_index keeps of its slice when a dispatched round of `real_samples` samples is
// divided into equal slices: all of it with even_batches, else what is not repeated.
std::size_t dispatched_rows(const ShardOptions& options, std::size_t real_samples);

// Whether a dispatched round of `real_samples` samples has nothing for some process. Only the last
// round may be like that, so every process knows by it that nothing follows.
bool leaves_one_out(const ShardOptions& options, std::size_t real_samples);

// The number of batches that this process gets from a stream of `samples` samples.
std::size_t iterable_length(const ShardOptions& options, std::size_t samples, bool dispatched);

}  // namespace accel
