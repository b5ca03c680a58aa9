// Runs every case of batch_sampler_shard.json. In the cases that are marked as defects of
// Accelerate, the test expects what accel does instead (docs/decisions/0013):
//   - len() is the number of batches that the process gets;
//   - no index of the inner stream is lost;
//   - with even_batches, all processes get the same number of batches.
#include "runtime/core/batch_sampler_shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "tests/conformance/golden.h"

namespace accel {
namespace {

using Batches = std::vector<runtime::IndexBatch>;
using nlohmann::json;

// Returns the batches of the inner sampler, which are given or cut from a stream of indices.
Batches inner_batches(const json& params) {
  if (params.contains("inner_batches")) return params["inner_batches"].get<Batches>();
  runtime::IndexBatch stream;
  if (params.contains("indices")) {
    stream = params["indices"].get<runtime::IndexBatch>();
  } else {
    for (std::size_t i = 0; i < params["length"]; ++i) stream.push_back(i);
  }
  const std::size_t batch_size = params["batch_size"];
  Batches batches;
  for (std::size_t i = 0; i < stream.size(); i += batch_size) {
    const std::size_t end = std::min(stream.size(), i + batch_size);
    if (params["drop_last"] && end - i < batch_size) break;
    batches.emplace_back(stream.begin() + static_cast<std::ptrdiff_t>(i),
                         stream.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return batches;
}

runtime::ShardOptions options_of(const json& params, std::size_t process_index) {
  runtime::ShardOptions options{.num_processes = params["num_processes"],
                                .process_index = process_index,
                                .split_batches = params["split_batches"],
                                .even_batches = params["even_batches"],
                                .drop_last = params["drop_last"]};
  if (!params["batch_size"].is_null()) options.batch_size = params["batch_size"].get<std::size_t>();
  return options;
}

Batches shard(const runtime::ShardOptions& options, const Batches& inner) {
  runtime::BatchSamplerShard sampler(
      options, [&, at = std::size_t{0}]() mutable -> std::optional<runtime::IndexBatch> {
        if (at == inner.size()) return std::nullopt;
        return inner[at++];
      });
  Batches out;
  while (auto batch = sampler.next()) out.push_back(std::move(batch->indices));
  return out;
}

std::vector<Batches> shard_all(const json& params, const Batches& inner) {
  std::vector<Batches> ranks;
  for (std::size_t p = 0; p < params["num_processes"]; ++p)
    ranks.push_back(shard(options_of(params, p), inner));
  return ranks;
}

std::set<std::size_t> indices_of(const Batches& batches) {
  std::set<std::size_t> indices;
  for (const runtime::IndexBatch& batch : batches) indices.insert(batch.begin(), batch.end());
  return indices;
}

// Returns true if a batch before the last is short, or if the last one is, although the inner
// sampler has drop_last.
bool ragged(const json& params, const Batches& inner) {
  if (params["batch_size"].is_null() || inner.empty()) return false;
  const auto full = inner.end() - (params["drop_last"] ? 0 : 1);
  return std::any_of(inner.begin(), full, [&](const runtime::IndexBatch& batch) {
    return batch.size() < params["batch_size"];
  });
}

// Expects accel's guarantees in cases in which Accelerate loses data or gives processes different
// numbers of batches.
void expect_nothing_lost(const json& params, const Batches& inner,
                         const std::vector<Batches>& ranks) {
  const std::size_t n = params["num_processes"];
  Batches kept = inner;
  if (params["drop_last"]) kept.resize(inner.size() / n * n);
  std::set<std::size_t> seen;
  std::size_t handed_out = 0;
  for (std::size_t p = 0; p < n; ++p) {
    seen.merge(indices_of(ranks[p]));
    for (const runtime::IndexBatch& batch : ranks[p]) handed_out += batch.size();
    if (params["even_batches"]) {
      EXPECT_EQ(ranks[p].size(), ranks[0].size());
    }
    // Complete rounds are distributed unchanged.
    for (std::size_t k = 0; k + 1 < ranks[p].size(); ++k) EXPECT_EQ(ranks[p][k], kept[k * n + p]);
  }
  EXPECT_EQ(seen, indices_of(kept));
  if (params["even_batches"] && !params["drop_last"]) return;
  std::size_t once = 0;
  for (const runtime::IndexBatch& batch : kept) once += batch.size();
  EXPECT_EQ(handed_out, once) << "an index is repeated";
}

// Returns true unless a defect of Accelerate affects the field.
bool comparable(const json& one, const char* field) {
  if (!one.contains("upstream_defect")) return true;
  if (!one.contains("defect_fields")) return false;
  const auto fields = one["defect_fields"].get<std::vector<std::string>>();
  return std::find(fields.begin(), fields.end(), field) == fields.end();
}

void expect_conforms(const json& one) {
  const json& params = one["params"];
  const Batches inner = inner_batches(params);
  if (one["expected"].contains("error")) {
    EXPECT_THROW(shard_all(params, inner), std::invalid_argument);
    return;
  }
  const std::vector<Batches> ranks = shard_all(params, inner);
  const bool defective_and_ragged = one.contains("upstream_defect") && ragged(params, inner);
  if (defective_and_ragged) {
    expect_nothing_lost(params, inner, ranks);
  } else if (comparable(one, "batches")) {
    EXPECT_EQ(ranks, one["expected"]["batches"].get<std::vector<Batches>>());
  } else {
    ADD_FAILURE() << "a defect that this test does not know: " << one["upstream_defect"];
  }
  for (std::size_t p = 0; p < ranks.size(); ++p) {
    const std::size_t last = inner.empty() ? 0 : inner.back().size();
    const std::size_t length = runtime::shard_length(options_of(params, p), inner.size(), last);
    EXPECT_EQ(length, ranks[p].size());
    if (comparable(one, "len")) {
      EXPECT_EQ(length, one["expected"]["len"][p].get<std::size_t>());
    }
  }
}

TEST(BatchSamplerShardConformance, EveryCase) {
  for (const json& one : golden_cases("batch_sampler_shard.json")) {
    SCOPED_TRACE(one.dump());
    expect_conforms(one);
  }
}

}  // namespace
}  // namespace accel
