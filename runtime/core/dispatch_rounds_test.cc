// Tests rounds of streams and of dispatched batches over all small worlds: together, the processes
// get each sample once and then only repetitions.
#include "runtime/core/dispatch_rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "runtime/core/iterable_shard.h"

namespace accel::runtime {
namespace {

// Calls body(options, length) for every world of 1 to 4 processes with small batches, and every
// small number of samples.
template <typename Body>
void for_each_world(Body&& body) {
  for (std::size_t n = 1; n <= 4; ++n) {
    for (const bool split : {false, true}) {
      for (std::size_t b = split ? n : 1; b <= 8; b += split ? n : 1) {
        for (std::size_t length = 0; length <= 3 * n * b + 1; ++length) {
          for (const int kind : {0, 1, 2}) {
            body(ShardOptions{.num_processes = n,
                              .batch_size = b,
                              .split_batches = split,
                              .even_batches = kind == 1,
                              .drop_last = kind == 2},
                 length);
          }
        }
      }
    }
  }
}

void append(IndexBatch& batch, RowRange range, std::size_t from) {
  for (std::size_t row = range.begin; row < range.end; ++row) batch.push_back(from + row);
}

// Returns the sample numbers of `share`, which belongs to the round that begins at sample `from`.
IndexBatch samples_of(const RoundShare& share, std::size_t from) {
  IndexBatch batch;
  append(batch, share.own, from);
  for (const RowRange& range : share.repeated) append(batch, range, 0);
  return batch;
}

BatchSamplerShard::Source batches(const ShardOptions& options, std::size_t length) {
  return [=, at = std::size_t{0}]() mutable -> std::optional<IndexBatch> {
    const std::size_t size = std::min(*options.batch_size, length - at);
    if (size == 0 || (options.drop_last && size < *options.batch_size)) return std::nullopt;
    IndexBatch batch(size);
    std::iota(batch.begin(), batch.end(), at);
    at += size;
    return batch;
  };
}

// Returns how many samples of a stream remain after drop_last.
std::size_t kept(const ShardOptions& options, std::size_t length) {
  return options.drop_last ? length / round_size(options) * round_size(options) : length;
}

TEST(RoundShareTest, TogetherTheProcessesGetEachSampleOnceThenPadding) {
  for_each_world([](ShardOptions options, std::size_t length) {
    const std::size_t round = round_size(options);
    std::vector<std::size_t> lengths(options.num_processes);
    for (std::size_t from = 0; from < length; from += round) {
      const std::size_t rows = std::min(round, length - from);
      IndexBatch together;
      for (options.process_index = 0; options.process_index < options.num_processes;
           ++options.process_index) {
        const auto share = round_share(options, rows, std::min(round, length));
        if (!share) continue;
        if (options.even_batches) {
          ASSERT_EQ(share->size(), round / options.num_processes);
        }
        ++lengths[options.process_index];
        for (std::size_t sample : samples_of(*share, from)) together.push_back(sample);
      }
      for (std::size_t i = 0; i < together.size(); ++i) {
        ASSERT_EQ(together[i], i < rows ? from + i : (i - rows) % std::min(round, length));
      }
      ASSERT_EQ(together.size(), options.even_batches                  ? round
                                 : rows == round || !options.drop_last ? rows
                                                                       : 0);
    }
    for (options.process_index = 0; options.process_index < options.num_processes;
         ++options.process_index) {
      ASSERT_EQ(iterable_length(options, length, false), lengths[options.process_index]);
    }
  });
}

// Whatever the sizes of the batches, only the last round may leave a process without a sample.
// Otherwise the processes would not remain at the same step.
TEST(DispatchRoundsTest, OnlyTheLastRoundLeavesAProcessWithoutSamples) {
  for (std::size_t n = 1; n <= 5; ++n) {
    for (std::size_t length = 0; length <= 40; ++length) {
      const ShardOptions options{.num_processes = n, .even_batches = false};
      std::size_t at = 0, number = 0, seen = 0;
      DispatchRounds rounds(options, [&]() -> std::optional<IndexBatch> {
        if (at == length) return std::nullopt;
        IndexBatch batch(std::min(length - at, number++ % 4 / 3 + 1));
        std::iota(batch.begin(), batch.end(), at);
        at += batch.size();
        return batch;
      });
      while (const auto round = rounds.next()) {
        seen += round->real_samples;
        if (seen < length) {
          ASSERT_FALSE(leaves_a_process_empty(options, round->real_samples)) << n;
        }
      }
      ASSERT_EQ(seen, length);
    }
  }
}

TEST(DispatchRoundsTest, GlobalBatchesDivideAndHoldEachSampleOnce) {
  for_each_world([](ShardOptions options, std::size_t length) {
    DispatchRounds rounds(options, batches(options, length));
    const std::size_t first = std::min(length, round_size(options)), all = kept(options, length);
    IndexBatch real;
    std::vector<std::size_t> lengths(options.num_processes);
    while (const auto round = rounds.next()) {
      ASSERT_EQ(round->indices.size() % options.num_processes, 0u);
      ASSERT_LT(round->indices.size() - round->real_samples, options.num_processes);
      for (std::size_t i = round->real_samples; i < round->indices.size(); ++i) {
        ASSERT_EQ(round->indices[i], (i - round->real_samples) % first);
      }
      real.insert(real.end(), round->indices.begin(),
                  round->indices.begin() + static_cast<std::ptrdiff_t>(round->real_samples));
      std::size_t divided = 0;
      for (options.process_index = 0; options.process_index < options.num_processes;
           ++options.process_index) {
        const std::size_t mine = dispatched_rows(options, round->real_samples);
        divided += mine;
        if (mine > 0) ++lengths[options.process_index];
      }
      ASSERT_EQ(divided, options.even_batches ? round->indices.size() : round->real_samples);
    }
    IndexBatch expected(all);
    std::iota(expected.begin(), expected.end(), 0);
    ASSERT_EQ(real, expected);
    const std::size_t b = *options.batch_size, rest = options.drop_last ? 0 : length % b;
    for (options.process_index = 0; options.process_index < options.num_processes;
         ++options.process_index) {
      const std::size_t expect = lengths[options.process_index];
      ASSERT_EQ(dispatch_length(options, length / b + (rest > 0), rest > 0 ? rest : b), expect);
      ASSERT_EQ(iterable_length(options, length, true), expect);
    }
  });
}

// Dispatching gives the same rounds for an iterable dataset as for batches of indices.
TEST(DispatchRoundsTest, StreamsAreDispatchedAlike) {
  for_each_world([](const ShardOptions& options, std::size_t length) {
    DispatchRounds rounds(options, batches(options, length));
    const std::size_t round = round_size(options);
    for (std::size_t from = 0; from < length; from += round) {
      const auto expected = rounds.next();
      const auto share =
          dispatched_round(options, std::min(round, length - from), std::min(round, length));
      ASSERT_EQ(share.has_value(), expected.has_value());
      if (share) {
        ASSERT_EQ(samples_of(*share, from), expected->indices);
      }
    }
    ASSERT_FALSE(rounds.next());
  });
}

TEST(DispatchRoundsTest, AResumedEpochIsPaddedWithItsFirstSamples) {
  const ShardOptions options{.num_processes = 2, .batch_size = 3};
  DispatchRounds rounds(options,
                        [once = true]() mutable -> std::optional<IndexBatch> {
                          if (!std::exchange(once, false)) return std::nullopt;
                          return IndexBatch{9};
                        },
                        {{4, 5, 6}});
  EXPECT_EQ(rounds.next()->indices, (IndexBatch{9, 4}));
}

TEST(RoundShareTest, RefusesABatchThatDoesNotDivide) {
  EXPECT_THROW(round_size({.num_processes = 5, .batch_size = 1, .split_batches = true}),
               std::invalid_argument);
  EXPECT_THROW(round_size({.num_processes = 2}), std::invalid_argument);
}

}  // namespace
}  // namespace accel::runtime
