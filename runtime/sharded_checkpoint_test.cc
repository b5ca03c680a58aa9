// A checkpoint of a sharded run continues with any number of ranks, sharded or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/testing/disk_faults.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/saved_run.h"
#include "runtime/testing/text_net.h"
#include "weights/merge.h"

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;
using Sharding = std::optional<ShardingOptions>;

const Sharding kBlocks = ShardingOptions{.strategy = ShardingStrategy::kFullShard,
                                         .auto_wrap_policy = WrapPolicy::kTransformerBased,
                                         .transformer_layer_cls_to_wrap = {"Block"}};

const Sharding kWhole = [] {
  ShardingOptions options = *kBlocks;
  options.state_dict_type = StateDictType::kFull;
  return options;
}();

const Sharding kReplicas = [] {
  ShardingOptions options = *kBlocks;
  options.strategy = ShardingStrategy::kHybridShard;
  options.shard_size = 2;
  return options;
}();

// A run whose ranks all train on the same words, so that results do not depend on their number.
struct TextRun {
  TextRun(const fs::path& folder, const Sharding& sharding, int num_steps = 1,
          std::int64_t width = 8)
      : accelerator({.gradient_accumulation = {.num_steps = num_steps},
                     .sharding = sharding,
                     .project = {.project_dir = folder, .automatic_checkpoint_naming = true}}) {
    torch::manual_seed(7 + accelerator.process_index());
    net = Text(3, width);
    model = accelerator.prepare(net);
    adam = accelerator.prepare(torch::optim::AdamW(net->parameters(), 0.01));
  }

  // Makes the batches [begin, end).
  void train(int begin, int end) {
    for (int batch = begin; batch < end; ++batch) {
      auto window = accelerator.accumulate(model);
      accelerator.backward(model->loss(words_of(batch, 0)));
      adam.step();
      adam.zero_grad();
    }
  }

  // Returns the whole parameters, on every rank.
  torch::Tensor weights() const {
    std::vector<torch::Tensor> flat;
    for (const torch::Tensor& parameter : net->parameters()) {
      flat.push_back(parameter.detach().clone().flatten());
    }
    return torch::cat(flat);
  }

  Accelerator accelerator;
  Text net{nullptr};
  Model<Text> model;
  Optimizer<torch::optim::AdamW> adam;
};

torch::Tensor trained_without_a_pause(int batches, int num_steps = 1) {
  TextRun run("", {}, num_steps);
  run.train(0, batches);
  return run.weights();
}

void save_after_two(const fs::path& folder, const Sharding& sharding, int num_steps = 1,
                    int batches = 2) {
  TextRun run(folder, sharding, num_steps);
  run.train(0, batches);
  run.accelerator.save_state();
  run.train(batches, batches + 1);  // While it is written.
  run.accelerator.end_training();
}

void expect_continues(const fs::path& folder, const Sharding& sharding,
                      const torch::Tensor& expected, int num_steps = 1, int batches = 2) {
  TextRun run(folder, sharding, num_steps);
  ASSERT_TRUE(run.accelerator.resume_from_newest());
  run.train(batches, 4);
  EXPECT_LE((run.weights() - expected).abs().max().item<double>(), 1e-5);
}

TEST(ShardedCheckpointTest, ContinuesWithAnyNumberOfRanks) {
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_any_ranks";
  if (on_ranks(2, [&] { save_after_two(folder, kBlocks); })) {
    const fs::path saved = folder / "checkpoints/checkpoint_0";
    EXPECT_FALSE(fs::exists(saved / "model.safetensors"));
    for (const char* part : {"model", "optimizer"}) {
      EXPECT_TRUE(fs::exists(saved / part / "shard-00000-model-00001-of-00001.safetensors"));
      EXPECT_TRUE(fs::exists(saved / part / "shard-00001-model-00001-of-00001.safetensors"));
    }
  }
  for (const int ranks : {1, 2, 3, 4}) {
    on_ranks(ranks, [&] { expect_continues(folder, kBlocks, trained_without_a_pause(4)); });
  }
  on_ranks(2, [&] { expect_continues(folder, {}, trained_without_a_pause(4)); });
}

// The first one of the replicas writes; and each loads.
TEST(ShardedCheckpointTest, ReplicasContinue) {
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_replicas";
  if (on_ranks(4, [&] { save_after_two(folder, kReplicas); })) {
    const fs::path model = folder / "checkpoints/checkpoint_0/model";
    EXPECT_TRUE(fs::exists(model / "shard-00001-model-00001-of-00001.safetensors"));
    EXPECT_FALSE(fs::exists(model / "shard-00002-model-00001-of-00001.safetensors"));
  }
  on_ranks(4, [&] { expect_continues(folder, kReplicas, trained_without_a_pause(4)); });
}

TEST(ShardedCheckpointTest, AFullCheckpointIsThatOfAnUnshardedRun) {
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_full";
  if (on_ranks(2, [&] { save_after_two(folder, kWhole); })) {
    EXPECT_TRUE(fs::exists(folder / "checkpoints/checkpoint_0/model.safetensors"));
    EXPECT_FALSE(fs::exists(folder / "checkpoints/checkpoint_0/model"));
  }
  on_ranks(3, [&] { expect_continues(folder, kBlocks, trained_without_a_pause(4)); });
  on_ranks(2, [&] { expect_continues(folder, {}, trained_without_a_pause(4)); });
}

// Its moments are read in part by each rank.
TEST(ShardedCheckpointTest, AFullCheckpointWithLargeMomentsContinues) {
  constexpr std::int64_t kWidth = 100;  // 120 kB for each weight of a block.
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_full_large";
  on_ranks(2, [&] {
    TextRun run(folder, kWhole, 1, kWidth);
    run.train(0, 2);
    run.accelerator.save_state();
    run.accelerator.end_training();
  });
  on_ranks(3, [&] {
    TextRun whole("", {}, 1, kWidth);
    whole.train(0, 4);
    TextRun run(folder, kBlocks, 1, kWidth);
    ASSERT_TRUE(run.accelerator.resume_from_newest());
    run.train(2, 4);
    EXPECT_LE((run.weights() - whole.weights()).abs().max().item<double>(), 1e-5);
  });
}

TEST(ShardedCheckpointTest, ReadsACheckpointOfAnUnshardedRun) {
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_reads_whole";
  on_ranks(1, [&] { save_after_two(folder, {}); });
  on_ranks(3, [&] { expect_continues(folder, kBlocks, trained_without_a_pause(4)); });
}

// The gradients of the open window are saved too.
TEST(ShardedCheckpointTest, ContinuesInsideAWindowOfAccumulation) {
  for (const Sharding& sharding : {kBlocks, kWhole}) {
    const std::string name =
        sharding->state_dict_type == StateDictType::kSharded ? "parts" : "whole";
    const fs::path folder = fs::path(testing::TempDir()) / ("sharded_window_" + name);
    on_ranks(2, [&] { save_after_two(folder, sharding, /*num_steps=*/2, /*batches=*/3); });
    on_ranks(3, [&] { expect_continues(folder, kBlocks, trained_without_a_pause(4, 2), 2, 3); });
  }
}

// `accel merge-weights` makes weights of a checkpoint in parts.
TEST(ShardedCheckpointTest, PartsAreMergedToWeights) {
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_merged";
  const fs::path weights = fs::path(testing::TempDir()) / "merged.safetensors";
  if (on_ranks(3, [&] { save_after_two(folder, kBlocks); })) {
    weights::merge(folder / "checkpoints/checkpoint_0/model", weights);
  }
  on_ranks(1, [&] {
    TextRun trained("", {});
    trained.train(0, 2);
    const torch::Tensor expected = trained.weights();
    TextRun loaded("", {});
    loaded.accelerator.load_checkpoint_in_model(loaded.model, weights);
    EXPECT_LE((loaded.weights() - expected).abs().max().item<double>(), 1e-5);
  });
}

TEST(ShardedCheckpointTest, StateDictAndSavedModelAreWhole) {
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_model";
  on_ranks(2, [&] {
    TextRun run("", kBlocks);
    run.train(0, 2);
    const torch::Tensor weights = run.weights();
    const auto state = run.accelerator.get_state_dict(run.model);
    EXPECT_EQ(state.size(), run.accelerator.is_main_process() ? run.net->parameters().size() : 0);
    const torch::Tensor head = run.net->head->weight.detach().clone();
    if (!state.is_empty()) {
      EXPECT_TRUE(torch::equal(state["head.weight"], head));
    }
    run.accelerator.save_model(run.model, folder);
    run.train(2, 4);
    EXPECT_FALSE(torch::equal(run.weights(), weights));
    run.accelerator.load_checkpoint_in_model(run.model, folder);
    EXPECT_TRUE(torch::equal(run.weights(), weights));
  });
}

// One rank dies in an operation on the disk while it writes its part. The other one commits
// nothing, and says which rank was lost.
TEST(ShardedCheckpointTest, ALostRankLeavesTheCheckpointBefore) {
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_lost";
  const auto save_and_lose = [&] {
    TextRun run(folder, kBlocks);
    run.train(0, 2);
    run.accelerator.save_state();
    run.accelerator.wait_for_save();
    run.train(2, 3);
    const bool dies = run.accelerator.process_index() == 1;
    if (dies) set_disk_faults({.under = folder, .kill_at = 3});
    run.accelerator.save_state();
    EXPECT_THAT(error_of([&] { run.accelerator.wait_for_save(); }), HasSubstr("rank 1"));
  };
  on_ranks(2, save_and_lose, {}, {{1, -SIGKILL}});
  on_ranks(2, [&] { expect_continues(folder, kBlocks, trained_without_a_pause(4)); });
}

// A disk that fails on one rank fails the save on all, and the next one succeeds.
TEST(ShardedCheckpointTest, AFullDiskOfOneRankFailsTheSaveOfAll) {
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_full_disk";
  on_ranks(2, [&] {
    TextRun run(folder, kBlocks);
    run.train(0, 2);
    if (run.accelerator.process_index() == 1) {
      set_disk_faults({.under = folder, .error = [](const DiskOperation& operation) {
                         return operation.name == "pwrite" || operation.name == "write" ? ENOSPC
                                                                                        : 0;
                       }});
    }
    run.accelerator.save_state();
    EXPECT_THAT(error_of([&] { run.accelerator.wait_for_save(); }), HasSubstr("No space left"));
    set_disk_faults({});
    run.accelerator.save_state();
    run.accelerator.wait_for_save();
    EXPECT_TRUE(fs::exists(folder / "checkpoints/checkpoint_1/manifest.json"));
    EXPECT_FALSE(fs::exists(folder / "checkpoints/checkpoint_0"));
  });
}

// A rank that is killed while a checkpoint is written leaves the checkpoint before.
TEST(ShardedCheckpointTest, AKillDuringASaveLeavesTheCheckpointBefore) {
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_kill";
  const auto save_and_die = [&] {
    TextRun run(folder, kBlocks);
    run.train(0, 2);
    run.accelerator.save_state();
    run.accelerator.wait_for_save();
    run.train(2, 3);
    run.accelerator.save_state();
    raise(SIGKILL);  // The second checkpoint may be complete or not.
  };
  on_ranks(2, save_and_die, {}, {{0, -SIGKILL}, {1, -SIGKILL}});
  on_ranks(2, [&] {
    const torch::Tensor expected = trained_without_a_pause(4);
    TextRun run(folder, kBlocks);
    ASSERT_TRUE(run.accelerator.resume_from_newest());
    // The number of the next checkpoint says which one was found.
    const int batches = run.accelerator.save_iteration() == 1 ? 2 : 3;
    run.train(batches, 4);
    EXPECT_LE((run.weights() - expected).abs().max().item<double>(), 1e-5);
  });
}

}  // namespace
}  // namespace accel::runtime
