// Runs every case of iterable_dataset_shard.json. In cases that are marked as defects of
// Accelerate, the test expects what accel does instead:
//   - the length is the number of batches that the process gets;
//   - split_batches with a batch size that is no multiple of the number of processes is rejected,
//     even for batches of one sample, of which Accelerate loses every one.
#include "runtime/core/iterable_shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "tests/conformance/golden.h"

namespace accel {
namespace {

using nlohmann::json;

struct Shard {
  std::vector<std::size_t> items;
  std::size_t batches = 0;
};

Shard shard(const runtime::ShardOptions& options, std::size_t length) {
  const std::size_t round = runtime::round_size(options);
  Shard shard;
  for (std::size_t from = 0; from < length; from += round) {
    const auto share =
        runtime::round_share(options, std::min(round, length - from), std::min(round, length));
    if (!share) break;
    ++shard.batches;
    for (std::size_t i = share->own.begin; i < share->own.end; ++i) shard.items.push_back(from + i);
    for (const runtime::RowRange& range : share->repeated) {
      for (std::size_t i = range.begin; i < range.end; ++i) shard.items.push_back(i);
    }
  }
  return shard;
}

void expect_conforms(const json& one) {
  const json& params = one["params"];
  const json& expected = one["expected"];
  runtime::ShardOptions options{.num_processes = params["num_processes"],
                                .batch_size = params["batch_size"].get<std::size_t>(),
                                .split_batches = params["split_batches"],
                                .drop_last = params["drop_last"]};
  const bool loses_data = one.contains("upstream_defect") && !one.contains("defect_fields");
  if (expected.contains("error") || loses_data) {
    EXPECT_THROW(runtime::round_size(options), std::invalid_argument);
    return;
  }
  for (std::size_t p = 0; p < options.num_processes; ++p) {
    options.process_index = p;
    const Shard mine = shard(options, params["length"]);
    EXPECT_EQ(mine.items, expected["items"][p].get<std::vector<std::size_t>>());
    const std::size_t length = runtime::iterable_length(options, params["length"], false);
    EXPECT_EQ(length, mine.batches);
    if (one.contains("defect_fields")) {
      EXPECT_EQ(one["defect_fields"], json::array({"len"})) << "a defect unknown to this test";
    } else {
      const std::size_t per_batch = runtime::round_size(options) / options.num_processes;
      EXPECT_EQ(length * per_batch, expected["len"][p].get<std::size_t>());
    }
  }
}

TEST(IterableShardConformance, EveryCase) {
  for (const json& one : golden_cases("iterable_dataset_shard.json")) {
    SCOPED_TRACE(one.dump());
    expect_conforms(one);
  }
}

}  // namespace
}  // namespace accel
