// Sharded training in several real processes equals data parallel training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/optim.h"
#include "runtime/distinct.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/text_net.h"
#include "runtime/testing/text_sharding.h"

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<torch::Tensor>;

// A part of a training that the cases below vary.
struct Variation {
  AcceleratorOptions options = {};
  bool is_tied = false;
  bool freezes = false;
  bool makes_optimizer_first = true;
  bool evaluates = false;
  double max_norm = 1e9;
};

// Trains four steps. Returns the losses and norms of this rank, then the whole parameters.
template <typename Optim = torch::optim::AdamW>
Tensors train(const Sharding& sharding, const Variation& how = {}) {
  Accelerator accelerator(with(sharding, how.options));
  Text net = seeded_net(7 + static_cast<std::uint64_t>(accelerator.process_index()), how.is_tied);
  if (how.freezes) {
    net->blocks[1]->as<Block>()->up->weight.requires_grad_(false);
    for (const auto& parameter : net->blocks[2]->parameters()) parameter.requires_grad_(false);
  }
  Model<Text> model;
  if (!how.makes_optimizer_first) model = accelerator.prepare(net);
  auto optimizer = accelerator.prepare(Optim(distinct(net->parameters()), 0.01));
  if (how.makes_optimizer_first) model = accelerator.prepare(net);
  Tensors results;
  for (int batch = 0; batch < 4; ++batch) {
    auto window = accelerator.accumulate(model);
    if (how.evaluates) {
      const torch::NoGradGuard no_graph;
      results.push_back(model->loss(words_of(50, 0)));
    }
    const torch::Tensor x = words_of(batch, accelerator.process_index());
    const auto loss = torch::nn::functional::cross_entropy(model(x).flatten(0, 1), x.flatten());
    accelerator.backward(loss);
    results.push_back(loss.detach());
    if (accelerator.sync_gradients()) {
      accelerator.clip_grad_norm_(net->parameters(), how.max_norm);
    }
    optimizer.step();
    optimizer.zero_grad();
  }
  for (const torch::Tensor& parameter : net->parameters()) {
    results.push_back(parameter.detach().clone());
  }
  return results;
}

void expect_equal(const Tensors& whole, const Tensors& sharded, double tolerance = 0) {
  ASSERT_EQ(whole.size(), sharded.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ASSERT_EQ(whole[i].sizes(), sharded[i].sizes());
    if (whole[i].numel() == 0) continue;  // A rank's piece of a gradient.
    EXPECT_LE((whole[i] - sharded[i]).abs().max().item<double>(), tolerance) << "result " << i;
  }
}

TEST(ShardedTrainingTest, TwoRanksTrainAsDataParallelBitForBit) {
  on_ranks(2, [] {
    const Tensors whole = train({});
    for (const auto strategy : {ShardingStrategy::kFullShard, ShardingStrategy::kShardGradOp}) {
      expect_equal(whole, train(sharded(strategy, {"Block"})));
      expect_equal(whole, train(sharded(strategy, {})));
      expect_equal(whole, train(sharded(strategy, {"Block", "Linear"})));
    }
    for (const auto prefetch : {BackwardPrefetch::kPre, BackwardPrefetch::kPost}) {
      Sharding options = kBlocks;
      options->backward_prefetch = prefetch;
      options->forward_prefetch = true;
      expect_equal(whole, train(options));
    }
    expect_equal(train<torch::optim::SGD>({}), train<torch::optim::SGD>(kBlocks));
    expect_equal(train<optim::AdamW>({}), train<optim::AdamW>(kBlocks));
  });
}

TEST(ShardedTrainingTest, VariationsOfTheLoopTrainAsDataParallel) {
  on_ranks(2, [] {
    const Variation variations[] = {{.is_tied = true},
                                    {.freezes = true},
                                    {.makes_optimizer_first = false},
                                    {.evaluates = true}};
    for (const Variation& how : variations) expect_equal(train({}, how), train(kBlocks, how));
  });
}

TEST(ShardedTrainingTest, RoundingApartFourRanksTrainAsDataParallel) {
  on_ranks(4, [] {
    const Variation clips{.max_norm = 0.1};
    const Variation accumulates{.options = {.gradient_accumulation = {.num_steps = 2}}};
    for (const Variation& how : {Variation(), clips, accumulates}) {
      const Tensors whole = train({}, how);
      expect_equal(whole, train(kBlocks, how), 1e-5);
      for (const int group : {1, 2, 4}) {
        expect_equal(whole, train(sharded(ShardingStrategy::kHybridShard, {"Block"}, group), how),
                     1e-5);
      }
    }
  });
}

// The norm of a part of the parameters is that of all ranks' pieces, and each rank gets the same.
TEST(ShardedTrainingTest, ClippingAnySubsetTakesTheNormOverAllRanks) {
  on_ranks(2, [] {
    const auto norms = [](const Sharding& sharding) {
      Accelerator accelerator(with(sharding));
      auto model = accelerator.prepare(seeded_net(7));
      accelerator.backward(model->loss(words_of(0, accelerator.process_index())));
      Tensors results;
      for (const double type : {1.0, 2.0, std::numeric_limits<double>::infinity()}) {
        results.push_back(accelerator.clip_grad_norm_(model->head->parameters(), 1e9, type));
        results.push_back(accelerator.clip_grad_norm_({model->head->bias}, 1e9, type));
        results.push_back(accelerator.clip_grad_norm_(model->parameters(), 1e9, type));
      }
      return results;
    };
    expect_equal(norms({}), norms(kBlocks), 1e-5);
  });
}

std::size_t bytes_of_parameters(const torch::nn::Module& module) {
  std::size_t bytes = 0;
  std::set<const void*> seen;
  for (const torch::Tensor& parameter : module.parameters()) {
    if (seen.insert(parameter.storage().unsafeGetStorageImpl()).second) {
      bytes += parameter.storage().nbytes();
    }
  }
  return bytes;
}

TEST(ShardedTrainingTest, BetweenStepsARankHoldsItsPartAlone) {
  on_ranks(2, [] {
    Accelerator accelerator(with(kBlocks));
    Text net = seeded_net(7);
    const std::size_t whole = bytes_of_parameters(*net);
    auto [model, optimizer] =
        accelerator.prepare(net, torch::optim::AdamW(net->parameters(), 0.01));
    EXPECT_EQ(bytes_of_parameters(*net), 0u);
    const auto loss = model->loss(words_of(0, accelerator.process_index()));
    EXPECT_GT(bytes_of_parameters(*net), 0u);
    EXPECT_LT(bytes_of_parameters(*net), whole) << "only the root and one block are gathered";
    accelerator.backward(loss);
    EXPECT_EQ(bytes_of_parameters(*net), 0u);
    std::int64_t gradients = 0, all = 0, moments = 0;
    for (const torch::Tensor& parameter : net->parameters()) {
      all += parameter.numel();
      gradients += parameter.grad().numel();
    }
    optimizer.step();
    EXPECT_EQ(bytes_of_parameters(*net), 0u);
    for (const auto& [parameter, state] : optimizer->state()) {
      moments += static_cast<torch::optim::AdamWParamState&>(*state).exp_avg().numel();
    }
    EXPECT_EQ(gradients, moments);
    EXPECT_NEAR(static_cast<double>(gradients), static_cast<double>(all) / 2, 16.0 * 4 * 8);
    EXPECT_EQ(net->embed->weight.sizes(), torch::IntArrayRef({11, 8}));
  });
}

TEST(ShardedTrainingTest, PrintShardingHasTheUnitsAndTheirMemory) {
  on_ranks(2, [] {
    Accelerator accelerator(with(kBlocks));
    const auto model = accelerator.prepare(seeded_net(7));
    testing::internal::CaptureStdout();
    accelerator.print_sharding(model);
    const std::string text = testing::internal::GetCapturedStdout();
    if (!accelerator.is_local_main_process()) {
      EXPECT_EQ(text, "");
      return;
    }
    std::int64_t count = 0;
    for (const torch::Tensor& parameter : model->parameters()) count += parameter.numel();
    EXPECT_THAT(text, HasSubstr("FULL_SHARD over 2 ranks, 1 replica"));
    EXPECT_THAT(text, HasSubstr("blocks.0 to blocks.2"));
    EXPECT_THAT(text, HasSubstr("4 units, " + std::to_string(count) + " parameters"));
  });
}

TEST(ShardedTrainingTest, UnusedParametersOfAUnitCountAsZeroOnTheRankThatLacksThem) {
  on_ranks(2, [] {
    const auto gradients = [](const Sharding& sharding) {
      Accelerator accelerator(with(sharding, {.data_parallel = {.find_unused_parameters = true}}));
      auto model = accelerator.prepare(seeded_net(7));
      const torch::Tensor h = model->embed(words_of(0, 0));
      auto& block = *model->blocks[0]->as<Block>();
      // Rank 1 leaves out `up` and `down`.
      torch::Tensor out = block.norm(h);
      if (accelerator.process_index() == 0) out = block.down(torch::gelu(block.up(out)));
      accelerator.backward(out.square().mean());
      EXPECT_FALSE(model->head->bias.grad().defined()) << "no rank has used it";
      Tensors all;
      // The first element of each is in the piece of rank 0 or of rank 1.
      for (const torch::Tensor& parameter : block.parameters()) {
        torch::Tensor sum = parameter.grad().sum();
        if (sharding) sum = accelerator.reduce(sum);
        all.push_back(sum);
      }
      return all;
    };
    expect_equal(gradients({}), gradients(kBlocks), 1e-6);
  });
}

TEST(ShardedTrainingTest, AnOverflowInOnePieceSkipsTheStepOfAllRanks) {
  on_ranks(2, [] {
    Accelerator accelerator(with(kBlocks, {.mixed_precision = "fp16"}));
    Text net = seeded_net(7);
    auto [model, optimizer] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.1));
    const torch::Tensor x = words_of(0, accelerator.process_index());
    accelerator.backward(torch::nn::functional::cross_entropy(model(x).flatten(0, 1), x.flatten()));
    if (accelerator.process_index() == 1) {
      net->head->weight.grad().fill_(std::numeric_limits<float>::infinity());
    }
    optimizer.step();
    EXPECT_TRUE(accelerator.optimizer_step_was_skipped());
  });
}

// Gradients that no_sync() keeps are reduced with those of the next pass.
TEST(ShardedTrainingTest, NoSyncKeepsGradientsUntilTheNextPass) {
  on_ranks(2, [] {
    const auto gradients = [](bool keeps) {
      Accelerator accelerator(with(kBlocks));
      auto model = accelerator.prepare(seeded_net(7));
      const auto pass = [&](int step) {
        accelerator.backward(model->loss(words_of(step, accelerator.process_index())));
      };
      if (keeps) {
        const auto scope = accelerator.no_sync(model);
        pass(0);
      } else {
        pass(0);
      }
      pass(1);
      Tensors all;
      for (const torch::Tensor& parameter : model->parameters()) all.push_back(parameter.grad());
      return all;
    };
    expect_equal(gradients(false), gradients(true), 1e-6);
  });
}

}  // namespace
}  // namespace accel::runtime
