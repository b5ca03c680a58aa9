// Shards of rows, and checkpoints of several ranks, compared with those of Python's fully_shard().
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <stdexcept>

#include "runtime/core/mesh.h"
#include "runtime/core/sharding/row_shards.h"
#include "tests/conformance/golden.h"
#include "weights/core/saved_tensors.h"

namespace accel::runtime {
namespace {

using nlohmann::json;
using weights::Shape;

json shard_json(const Shape& shape, int ranks, int rank, int dim) {
  const RowShard shard = row_shard(shape, ranks, rank, dim);
  json out = {{"size", shard.box.sizes},
              {"padded_size", shard.padded},
              {"buffer_numel", weights::elements(weights::whole(shard.padded))},
              {"chunk", {{"offsets", shard.box.offsets}, {"sizes", shard.box.sizes}}}};
  // A tensor that holds 0, 1, 2, ... has the position of its first element there.
  const auto runs = weights::runs(shard.box, weights::whole(shape), shard.box);
  if (!runs.empty()) out["first_element"] = runs[0].from;
  return out;
}

void check_parameter(const json& params, const json& expected) {
  const auto shape = params["shape"].get<Shape>();
  const int ranks = params["world_size"];
  if (expected.contains("error")) {
    EXPECT_THROW(row_shard(shape, ranks, 0, params["shard_dim"]), std::invalid_argument);
    return;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    json theirs = expected["per_rank"][rank];
    theirs.erase("stride");  // That of a contiguous tensor.
    EXPECT_EQ(shard_json(shape, ranks, rank, params["shard_dim"]), theirs);
  }
}

void check_group(const json& params, const json& expected) {
  const RowGroup group =
      row_group(params["shapes"].get<std::vector<Shape>>(), params["world_size"]);
  EXPECT_EQ((json{{"all_gather_input_numel", group.shard},
                  {"all_gather_output_numel", group.whole},
                  {"splits", group.splits},
                  {"reduce_scatter_input_numel", group.whole},
                  {"reduce_scatter_output_numel", group.shard},
                  {"padding_numel", group.padding}}),
            expected);
}

void check_hybrid(const json& params, const json& expected) {
  const int replicas = params["mesh"][0], shards = params["mesh"][1];
  for (int rank = 0; rank < replicas * shards; ++rank) {
    const Mesh mesh = make_mesh(replicas * shards, shards, rank);
    ASSERT_EQ(mesh.replicate, replicas);
    const json& theirs = expected["per_rank"][rank];
    const int shard_rank = theirs["shard_rank"];
    json ours = shard_json(params["shape"].get<Shape>(), shards, shard_rank, 0);
    // Neighbouring ranks are in one row of the mesh.
    EXPECT_EQ(shard_rank, mesh.rank % mesh.shard);
    EXPECT_EQ(theirs["replicate_rank"], mesh.rank / mesh.shard);
    for (const auto& [key, value] : ours.items()) EXPECT_EQ(value, theirs[key]) << key;
  }
}

// What a group of ranks keeps after forward is a shard among the ranks of that group.
void check_reshard_to(const json& params, const json& expected) {
  const auto shape = params["shape"].get<Shape>();
  const int ranks = params["world_size"], group = params["group_size"];
  if (expected.contains("error")) {
    EXPECT_THROW(make_mesh(ranks, group, 0), std::invalid_argument);
    return;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const json& theirs = expected["per_rank"][rank];
    EXPECT_EQ(json(row_shard(shape, ranks, rank).box.sizes), theirs["size"]);
    if (theirs.value("keeps_all", false)) continue;
    EXPECT_EQ(json(row_shard(shape, group, rank % group).box.sizes), theirs["post_forward_size"]);
  }
}

void check_reshard_load(const json& params, const json& expected) {
  const auto shape = params["shape"].get<Shape>();
  const int saved = params["saved_world_size"], ranks = params["world_size"];
  weights::SavedTensor tensor = {.shape = shape};
  for (int rank = 0; rank < saved && !shape.empty(); ++rank) {
    tensor.pieces.push_back(
        {.box = row_shard(shape, saved, rank).box, .file = static_cast<std::size_t>(rank)});
  }
  for (int rank = 0; rank < ranks; ++rank) {
    json reads = json::array();
    std::uint64_t bytes = 0;
    for (const RowRead& read : row_reads(shape, saved, ranks, rank)) {
      reads.push_back({{"saved_chunk", read.saved},
                       {"from", read.from},
                       {"to", read.to},
                       {"lengths", read.sizes}});
    }
    EXPECT_EQ(reads, expected["reads_per_rank"][rank]);
    if (shape.empty()) continue;
    // The plan in bytes covers the rank's shard once.
    const weights::Box mine = row_shard(shape, ranks, rank).box;
    for (const auto& range : weights::reads_for(tensor, mine)) bytes += range.length;
    EXPECT_EQ(bytes, 4 * weights::elements(mine));
  }
}

// The chunks of a checkpoint are those of the ranks, and cover each tensor.
void check_checkpoint(const json& params, const json& expected) {
  const int ranks = params["num_processes"];
  for (const auto& [folder, content] : expected.items()) {
    if (!content.is_object() || !content.contains("tensors")) continue;
    for (const auto& [name, tensor] : content["tensors"].items()) {
      const auto shape = tensor["size"].get<Shape>();
      std::vector<weights::Box> boxes;
      for (const json& chunk : tensor["chunks"]) {
        boxes.push_back({.offsets = chunk["offsets"], .sizes = chunk["sizes"]});
      }
      EXPECT_EQ(weights::fault_of_cover(shape, boxes), std::nullopt) << name;
      if (static_cast<int>(boxes.size()) != ranks || shape.empty()) continue;
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(boxes[rank], row_shard(shape, ranks, rank).box) << folder << " " << name;
      }
    }
  }
}

TEST(FsdpShardTest, ShardsAndCheckpointsEqualUpstreams) {
  const std::map<std::string, void (*)(const json&, const json&)> kChecks = {
      {"parameter", check_parameter},
      {"group", check_group},
      {"hybrid", check_hybrid},
      {"reshard_to", check_reshard_to},
      {"reshard_load", check_reshard_load},
      {"checkpoint", check_checkpoint}};
  std::map<std::string, int> checked;
  for (const json& golden : golden_cases("fsdp_shard.json")) {
    SCOPED_TRACE(golden["params"].dump());
    const std::string op = golden["params"]["op"];
    const auto check = kChecks.find(op);
    ASSERT_NE(check, kChecks.end()) << op;
    check->second(golden["params"], golden["expected"]);
    ++checked[op];
  }
  for (const auto& [op, cases] : checked) std::printf("%d cases of %s\n", cases, op.c_str());
}

}  // namespace
}  // namespace accel::runtime
