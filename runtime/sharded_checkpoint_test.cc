// A checkpoint of a sharded run continues with any number of ranks, sharded or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/saved_run.h"
#include "runtime/testing/text_net.h"

namespace accel::runtime {
namespace {

using Sharding = std::optional<ShardingOptions>;

const Sharding kBlocks = ShardingOptions{.strategy = ShardingStrategy::kFullShard,
                                         .auto_wrap_policy = WrapPolicy::kTransformerBased,
                                         .transformer_layer_cls_to_wrap = {"Block"}};

// A run whose ranks all train on the same words, so that results do not depend on their number.
struct TextRun {
  TextRun(const fs::path& folder, const Sharding& sharding, int num_steps = 1)
      : accelerator({.gradient_accumulation = {.num_steps = num_steps},
                     .sharding = sharding,
                     .project = {.project_dir = folder, .automatic_checkpoint_naming = true}}) {
    torch::manual_seed(7 + accelerator.process_index());
    net = Text();
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
    EXPECT_TRUE(fs::exists(folder / "checkpoints/checkpoint_0/model.safetensors"));
  }
  for (const int ranks : {1, 2, 3, 4}) {
    on_ranks(ranks, [&] { expect_continues(folder, kBlocks, trained_without_a_pause(4)); });
  }
  on_ranks(2, [&] { expect_continues(folder, {}, trained_without_a_pause(4)); });
}

TEST(ShardedCheckpointTest, ReadsACheckpointOfAnUnshardedRun) {
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_reads_whole";
  on_ranks(1, [&] { save_after_two(folder, {}); });
  on_ranks(3, [&] { expect_continues(folder, kBlocks, trained_without_a_pause(4)); });
}

// The gradients of the open window are saved too, as a whole.
TEST(ShardedCheckpointTest, ContinuesInsideAWindowOfAccumulation) {
  const fs::path folder = fs::path(testing::TempDir()) / "sharded_window";
  on_ranks(2, [&] { save_after_two(folder, kBlocks, /*num_steps=*/2, /*batches=*/3); });
  on_ranks(3, [&] { expect_continues(folder, kBlocks, trained_without_a_pause(4, 2), 2, 3); });
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
