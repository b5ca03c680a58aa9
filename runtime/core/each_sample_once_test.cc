// Tests all worlds of up to 8 processes, batches of up to 9 and epochs of up to 100 samples:
// without the repeated samples, which gather_for_metrics() cuts off, the processes together get
// each sample once and in order. The same holds after skipped steps, and when another world resumes
// the epoch. Covers batches of one size, ragged batches, streams, and loaders that one process
// reads for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/batch_sampler_shard.h"
#include "runtime/core/dispatch_rounds.h"
#include "runtime/core/iterable_shard.h"

namespace accel::runtime {
namespace {

// How the samples come. Ragged batches have 1, 2, 3, 1, 2, ... samples; kRaggedSized declares a
// batch_size nevertheless, kRagged does not. One process reads the dispatched kinds for all.
enum class Kind { kBatches, kRaggedSized, kRagged, kStream, kDispatchedBatches, kDispatchedStream };

struct World {
  Kind kind = Kind::kBatches;
  ShardOptions options;

  bool dispatched() const {
    return kind == Kind::kDispatchedBatches || kind == Kind::kDispatchedStream;
  }
  bool stream() const { return kind == Kind::kStream || kind == Kind::kDispatchedStream; }
  bool ragged() const { return kind == Kind::kRagged || kind == Kind::kRaggedSized; }
  // The number of inner batches in a round.
  std::size_t batches_per_round() const {
    return options.split_batches ? 1 : options.num_processes;
  }
};

std::ostream& operator<<(std::ostream& out, const World& world) {
  return out << "kind " << static_cast<int>(world.kind) << " N=" << world.options.num_processes
             << " B=" << world.options.batch_size.value_or(0)
             << " split=" << world.options.split_batches << " even=" << world.options.even_batches
             << " drop_last=" << world.options.drop_last;
}

// Returns the batches in which an inner sampler yields samples [begin, length). Ragged batches end
// at the same samples as in the whole epoch, wherever `begin` lies.
std::vector<IndexBatch> batches_of(const World& world, std::size_t begin, std::size_t length) {
  std::vector<IndexBatch> batches;
  std::size_t at = world.ragged() ? 0 : begin;
  for (std::size_t number = 0; at < length; ++number) {
    std::size_t size = world.options.batch_size.value_or(3);
    if (world.ragged()) size = std::min(size, number % 3 + 1);
    const std::size_t end = std::min(length, at + size);
    const bool dropped = world.options.drop_last && !world.ragged() && end - at < size;
    if (end > begin && !dropped) {
      IndexBatch& batch = batches.emplace_back(end - std::max(at, begin));
      std::iota(batch.begin(), batch.end(), std::max(at, begin));
    }
    at = end;
  }
  return batches;
}

// One step of the whole world.
struct GlobalStep {
  std::vector<IndexBatch> shares;  // By process; empty for a process that gets nothing.
  std::size_t real_samples = 0;
  std::size_t padded_samples = 0;

  // Returns the samples that gather_for_metrics() keeps.
  IndexBatch counted() const {
    IndexBatch all;
    for (const IndexBatch& share : shares) all.insert(all.end(), share.begin(), share.end());
    EXPECT_GE(all.size(), real_samples);
    all.resize(real_samples);
    return all;
  }

  std::size_t size() const {
    std::size_t samples = 0;
    for (const IndexBatch& share : shares) samples += share.size();
    return samples;
  }
};

BatchSamplerShard::Source source_of(std::vector<IndexBatch> batches) {
  return
      [batches = std::move(batches), at = std::size_t{0}]() mutable -> std::optional<IndexBatch> {
        if (at == batches.size()) return std::nullopt;
        return batches[at++];
      };
}

// Returns the first batches, at most a round, of an epoch that is resumed after `seen` samples.
std::vector<IndexBatch> first_batches(const World& world, std::size_t seen) {
  World whole = world;
  whole.options.drop_last = false;
  std::vector<IndexBatch> first = batches_of(whole, 0, seen);
  first.resize(std::min(first.size(), world.batches_per_round()));
  return first;
}

std::vector<GlobalStep> shard_steps(World world, std::size_t seen, std::size_t length) {
  std::vector<GlobalStep> steps;
  ShardOptions& options = world.options;
  bool same = true;
  for (options.process_index = 0; options.process_index < options.num_processes;
       ++options.process_index) {
    BatchSamplerShard shard(options, source_of(batches_of(world, seen, length)),
                            first_batches(world, seen));
    for (std::size_t step = 0; auto share = shard.next(); ++step) {
      if (step == steps.size()) {
        steps.push_back({std::vector<IndexBatch>(options.num_processes), share->real_samples,
                         share->padded_samples});
      }
      EXPECT_EQ(steps[step].real_samples, share->real_samples) << "all ranks know the same number";
      same = same && steps[step].padded_samples == share->padded_samples;
      steps[step].shares[options.process_index] = std::move(share->indices);
    }
  }
  for (const GlobalStep& step : steps) same = same && step.padded_samples == step.size();
  EXPECT_TRUE(same) << "all ranks know what they have together";
  return steps;
}

// Divides a dispatched round among the processes.
GlobalStep divided(const World& world, const IndexBatch& indices, std::size_t real_samples) {
  GlobalStep step{{}, real_samples, indices.size()};
  ShardOptions options = world.options;
  const std::size_t slice = indices.size() / options.num_processes;
  for (options.process_index = 0; options.process_index < options.num_processes;
       ++options.process_index) {
    const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(options.process_index * slice);
    step.shares.emplace_back(
        begin, begin + static_cast<std::ptrdiff_t>(dispatched_rows(options, real_samples)));
  }
  return step;
}

std::vector<GlobalStep> dispatch_steps(const World& world, std::size_t seen, std::size_t length) {
  DispatchRounds rounds(world.options, source_of(batches_of(world, seen, length)),
                        first_batches(world, seen));
  std::vector<GlobalStep> steps;
  while (const auto round = rounds.next()) {
    steps.push_back(divided(world, round->indices, round->real_samples));
  }
  return steps;
}

IndexBatch rows_of(const RoundShare& share, std::size_t from) {
  IndexBatch rows;
  const auto append = [&rows](const RowRange& range, std::size_t offset) {
    for (std::size_t row = range.begin; row < range.end; ++row) rows.push_back(offset + row);
  };
  append(share.own, from);
  for (const RowRange& range : share.repeated) append(range, 0);
  return rows;
}

std::vector<GlobalStep> stream_steps(const World& world, std::size_t seen, std::size_t length) {
  std::vector<GlobalStep> steps;
  ShardOptions options = world.options;
  const std::size_t round = round_size(options);
  for (std::size_t from = seen; from < length; from += round) {
    const std::size_t rows = std::min(round, length - from);
    // The first round is what was read first, even if those samples were skipped.
    const std::size_t first = std::min(round, seen > 0 ? seen : length);
    GlobalStep step{{}, rows, 0};
    if (world.dispatched()) {
      const auto share = dispatched_round(options, rows, first);
      if (share) steps.push_back(divided(world, rows_of(*share, from), rows));
      continue;
    }
    bool any = false;
    for (options.process_index = 0; options.process_index < options.num_processes;
         ++options.process_index) {
      const auto share = round_share(options, rows, first);
      step.shares.push_back(share ? rows_of(*share, from) : IndexBatch{});
      any |= share.has_value();
    }
    if (any) steps.push_back(std::move(step));
  }
  return steps;
}

// Returns the steps of an epoch of `length` samples after `seen` of them have been skipped.
std::vector<GlobalStep> steps_of(const World& world, std::size_t seen, std::size_t length) {
  if (world.stream()) return stream_steps(world, seen, length);
  return world.dispatched() ? dispatch_steps(world, seen, length)
                            : shard_steps(world, seen, length);
}

// Returns the end of the samples that drop_last keeps, if the epoch resumes after `seen` samples.
std::size_t kept(const World& world, std::size_t seen, std::size_t length) {
  const ShardOptions& options = world.options;
  if (!options.drop_last) return length;
  const std::size_t round = *options.batch_size * world.batches_per_round();
  return seen + (length - seen) / round * round;
}

// Expects that the steps from `skip` on hold samples [seen, end) once each and in order.
void expect_each_once(const std::vector<GlobalStep>& steps, std::size_t skip, std::size_t seen,
                      std::size_t end) {
  std::size_t next = seen;
  for (std::size_t k = skip; k < steps.size(); ++k) {
    for (const std::size_t sample : steps[k].counted()) ASSERT_EQ(sample, next++);
  }
  ASSERT_EQ(next, end);
}

// Expects, with even_batches, that every process gets samples in every step, and equally many
// unless the inner batches are ragged.
void expect_even(const World& world, const std::vector<GlobalStep>& steps) {
  if (!world.options.even_batches || world.kind == Kind::kRagged) return;
  for (const GlobalStep& step : steps) {
    for (const IndexBatch& share : step.shares) {
      ASSERT_FALSE(share.empty());
      if (world.ragged()) continue;
      ASSERT_EQ(share.size(), step.shares[0].size());
    }
  }
}

std::vector<World> all_worlds() {
  std::vector<World> worlds;
  for (int kind = 0; kind <= static_cast<int>(Kind::kDispatchedStream); ++kind) {
    for (std::size_t n = 1; n <= 8; ++n) {
      for (std::size_t b = 1; b <= 9; ++b) {
        for (int bits = 0; bits < 8; ++bits) {
          World world{static_cast<Kind>(kind),
                      {.num_processes = n,
                       .batch_size = b,
                       .split_batches = (bits & 1) != 0,
                       .even_batches = (bits & 2) != 0,
                       .drop_last = (bits & 4) != 0}};
          const ShardOptions& options = world.options;
          if (options.split_batches && b % n != 0) continue;
          if (world.ragged() && options.drop_last) continue;
          if (world.kind == Kind::kRagged) {
            if (b != 3 || options.split_batches) continue;
            world.options.batch_size.reset();
          }
          worlds.push_back(world);
        }
      }
    }
  }
  return worlds;
}

TEST(EachSampleOnceTest, InAWholeEpochAndAfterSkippedSteps) {
  std::size_t cases = 0;
  for (const World& world : all_worlds()) {
    for (std::size_t length = 0; length <= 100; length += length < 40 ? 1 : 5) {
      SCOPED_TRACE(testing::Message() << world << " L=" << length);
      const std::vector<GlobalStep> steps = steps_of(world, 0, length);
      expect_even(world, steps);
      std::size_t seen = 0;
      for (std::size_t skip = 0; skip <= steps.size(); ++skip, ++cases) {
        expect_each_once(steps, skip, seen, kept(world, 0, length));
        if (testing::Test::HasFatalFailure()) return;
        if (skip < steps.size()) seen += steps[skip].real_samples;
      }
    }
  }
  EXPECT_GT(cases, 100'000u);
}

TEST(EachSampleOnceTest, WhenAnotherWorldResumesInMidEpoch) {
  const std::vector<World> worlds = all_worlds();
  std::size_t cases = 0;
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    const World& before = worlds[i];
    for (const std::size_t length : {1, 2, 7, 13, 16, 25, 36, 49, 64, 81, 100}) {
      const std::vector<GlobalStep> steps = steps_of(before, 0, length);
      std::size_t seen = 0;
      for (std::size_t k = 0; k <= steps.size(); ++k, ++cases) {
        // The stride pairs each world with many others over the steps. Ragged and other worlds see
        // different data, so a pair of them is replaced by `before` twice.
        const World* after = &worlds[(i + 97 * (cases + 1)) % worlds.size()];
        if (after->ragged() != before.ragged()) after = &before;
        SCOPED_TRACE(testing::Message() << before << ", then " << *after << ", L=" << length
                                        << ", after step " << k << ", " << seen << " samples");
        expect_each_once(steps_of(*after, seen, length), 0, seen, kept(*after, seen, length));
        if (testing::Test::HasFatalFailure()) return;
        if (k < steps.size()) seen += steps[k].real_samples;
      }
    }
  }
  EXPECT_GT(cases, 100'000u);
}

}  // namespace
}  // namespace accel::runtime
