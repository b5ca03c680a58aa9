// Shards an iterable dataset, whose samples come as a stream. Either every process reads the
// whole stream and keeps its part, or rank 0 reads the stream and sends every process its slice
// (dispatched). The part is found by counting. Nothing is communicated for this, and no sample
// is looked at.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/core/batch_sampler_shard.h"

namespace accel::runtime {

// The samples [begin, end) of a round, counted from the round's first sample.
struct RowRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
};

// A batch: the samples `own` of the current round, followed by the samples `repeated` of the
// stream's first round.
struct RoundShare {
  RowRange own;
  std::vector<RowRange> repeated;

  std::size_t size() const;
};

// Returns the number of samples in a round. A stream is read in rounds, each of which gives every
// process one batch:
// clang-format off
//   no split   batch_size samples for each process
//   split      batch_size samples for all processes together
// clang-format on
// In process order, the samples of a round keep the stream's order.
//
// Throws std::invalid_argument as check_shard_options() does, and without a batch_size.
std::size_t round_size(const ShardOptions& options);

// Returns this process's batch of a round of `rows` samples (at least 1), or nullopt if it gets
// none. Only the last round may hold fewer than round_size() samples. With drop_last such a round
// is dropped. With even_batches it is padded with the `first_rows` samples of the first round,
// repeatedly if they are too few. Otherwise it is divided without padding.
std::optional<RoundShare> round_share(const ShardOptions& options, std::size_t rows,
                                      std::size_t first_rows);

// Returns the whole round, for the process that reads the stream for all. It is padded to the next
// multiple of num_processes, so that it divides into equal slices and as few samples as possible
// are repeated. Returns nullopt if the round is dropped.
std::optional<RoundShare> dispatched_round(const ShardOptions& options, std::size_t rows,
                                           std::size_t first_rows);

// Returns how many samples of its slice process_index keeps. The slices are equal parts of a
// dispatched round of `real_samples` samples. With even_batches a process keeps all of its slice,
// otherwise all that is not padding.
std::size_t dispatched_rows(const ShardOptions& options, std::size_t real_samples);

// Returns true if a dispatched round of `real_samples` samples leaves some process without a
// sample. Only the last round can, so every process learns from it that no round follows.
bool leaves_a_process_empty(const ShardOptions& options, std::size_t real_samples);

// Returns the number of batches that process_index gets from a stream of `samples` samples.
std::size_t iterable_length(const ShardOptions& options, std::size_t samples, bool dispatched);

}  // namespace accel::runtime
