#include "runtime/core/batch_sampler_shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>
#include <utility>

namespace accel::runtime {
namespace {

using Batches = std::vector<IndexBatch>;

BatchSamplerShard::Source source_of(const Batches& batches) {
  return [&batches, at = std::size_t{0}]() mutable -> std::optional<IndexBatch> {
    if (at == batches.size()) return std::nullopt;
    return batches[at++];
  };
}

Batches batches_of(std::size_t length, std::size_t batch_size, bool drop_last) {
  Batches batches;
  for (std::size_t i = 0; i < length; ++i) {
    if (i % batch_size == 0) batches.emplace_back();
    batches.back().push_back(i);
  }
  if (drop_last && !batches.empty() && batches.back().size() < batch_size) batches.pop_back();
  return batches;
}

std::vector<ShardedBatch> shard(const ShardOptions& options, const Batches& inner) {
  BatchSamplerShard sampler(options, source_of(inner));
  std::vector<ShardedBatch> out;
  while (auto batch = sampler.next()) out.push_back(*std::move(batch));
  EXPECT_FALSE(sampler.next()) << "the end is final";
  return out;
}

// The batches of all processes, by rank and step.
struct World {
  std::vector<std::vector<ShardedBatch>> ranks;

  std::size_t steps() const {
    std::size_t most = 0;
    for (const auto& rank : ranks) most = std::max(most, rank.size());
    return most;
  }
  // Returns the indices of all processes in step `k`, concatenated in process order.
  IndexBatch step(std::size_t k) const {
    IndexBatch all;
    for (const auto& rank : ranks) {
      if (k < rank.size()) all.insert(all.end(), rank[k].indices.begin(), rank[k].indices.end());
    }
    return all;
  }
};

World world_of(ShardOptions options, const Batches& inner) {
  World world;
  for (options.process_index = 0; options.process_index < options.num_processes;
       ++options.process_index) {
    world.ranks.push_back(shard(options, inner));
  }
  return world;
}

std::size_t count(const Batches& batches) {
  std::size_t samples = 0;
  for (const auto& batch : batches) samples += batch.size();
  return samples;
}

// Expects that each index of the inner stream occurs exactly once, not counting repeated samples.
void expect_each_once(const World& world, std::size_t length) {
  std::map<std::size_t, int> seen;
  for (std::size_t k = 0; k < world.steps(); ++k) {
    IndexBatch all = world.step(k);
    ASSERT_LE(world.ranks[0][k].real_samples, all.size());
    all.resize(world.ranks[0][k].real_samples);
    for (std::size_t index : all) ++seen[index];
  }
  ASSERT_EQ(seen.size(), length);
  for (const auto& [index, times] : seen) ASSERT_EQ(times, 1) << "index " << index;
}

TEST(BatchSamplerShardTest, EachSampleOnceOverAllSizes) {
  for (std::size_t n = 1; n <= 5; ++n) {
    for (std::size_t per_rank = 1; per_rank <= 4; ++per_rank) {
      for (std::size_t length = 0; length <= 3 * n * per_rank + 2; ++length) {
        for (int bits = 0; bits < 4; ++bits) {
          const bool split = bits & 1, even = bits & 2;
          const std::size_t batch_size = split ? n * per_rank : per_rank;
          const ShardOptions options{.num_processes = n,
                                     .batch_size = batch_size,
                                     .split_batches = split,
                                     .even_batches = even};
          SCOPED_TRACE(testing::Message() << "N=" << n << " B=" << batch_size << " L=" << length
                                          << " split=" << split << " even=" << even);
          const World world = world_of(options, batches_of(length, batch_size, false));
          expect_each_once(world, length);
          if (!even) continue;
          for (const auto& rank : world.ranks) {
            ASSERT_EQ(rank.size(), world.steps());
            for (const auto& batch : rank) ASSERT_EQ(batch.indices.size(), per_rank);
          }
        }
      }
    }
  }
}

TEST(BatchSamplerShardTest, NoSampleOfAShortBatchInMidStreamIsLost) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = 1 + random() % 5, per_rank = 1 + random() % 4;
    const bool split = random() % 2, even = random() % 2, sized = split || random() % 2;
    const std::size_t batch_size = split ? n * per_rank : per_rank;
    Batches inner(random() % 12);
    std::size_t next = 0;
    for (auto& batch : inner) {
      for (std::size_t i = 1 + random() % batch_size; i > 0; --i) batch.push_back(next++);
    }
    ShardOptions options{.num_processes = n, .split_batches = split, .even_batches = even};
    if (sized) options.batch_size = batch_size;
    SCOPED_TRACE(testing::Message() << "case " << round);
    const World world = world_of(options, inner);
    std::map<std::size_t, int> seen;
    for (const auto& rank : world.ranks) {
      if (even) {
        ASSERT_EQ(rank.size(), world.steps());
      }
      for (const auto& batch : rank) {
        for (std::size_t index : batch.indices) ++seen[index];
      }
    }
    ASSERT_EQ(seen.size(), count(inner));
    if (even) continue;
    for (const auto& [index, times] : seen) ASSERT_EQ(times, 1) << "index " << index;
  }
}

TEST(BatchSamplerShardTest, LengthIsTheNumberOfBatches) {
  for (std::size_t n = 1; n <= 4; ++n) {
    for (std::size_t batch_size : {n, 2 * n, std::size_t{3}}) {
      for (std::size_t length = 0; length <= 4 * n * batch_size; ++length) {
        for (int bits = 0; bits < 8; ++bits) {
          const bool split = bits & 1, even = bits & 2, drop = bits & 4;
          if (split && batch_size % n != 0) continue;
          const Batches inner = batches_of(length, batch_size, drop);
          for (std::size_t p = 0; p < n; ++p) {
            const ShardOptions options{.num_processes = n,
                                       .process_index = p,
                                       .batch_size = batch_size,
                                       .split_batches = split,
                                       .even_batches = even,
                                       .drop_last = drop};
            ASSERT_EQ(shard_length(options, inner.size(), inner.empty() ? 0 : inner.back().size()),
                      shard(options, inner).size())
                << "N=" << n << " p=" << p << " B=" << batch_size << " L=" << length
                << " bits=" << bits;
          }
        }
      }
    }
  }
}

TEST(BatchSamplerShardTest, RefusesContradictions) {
  EXPECT_THROW(check_shard_options({.num_processes = 0}), std::invalid_argument);
  EXPECT_THROW(check_shard_options({.num_processes = 2, .process_index = 2}),
               std::invalid_argument);
  EXPECT_THROW(check_shard_options({.batch_size = 0}), std::invalid_argument);
  EXPECT_THROW(check_shard_options({.num_processes = 2, .split_batches = true}),
               std::invalid_argument);
  EXPECT_THROW(check_shard_options({.num_processes = 2, .batch_size = 3, .split_batches = true}),
               std::invalid_argument);
  EXPECT_NO_THROW(
      check_shard_options({.num_processes = 2, .batch_size = 4, .split_batches = true}));
}

}  // namespace
}  // namespace accel::runtime
