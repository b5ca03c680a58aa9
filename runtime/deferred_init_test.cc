// Models whose constructor is recorded, and executed part by part in prepare().
#include "accel/deferred_init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "accel/accelerator.h"
#include "accel/without_memory.h"
#include "runtime/testing/counting_allocator.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/text_net.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr int kBlocks = 6;
constexpr std::int64_t kWidth = 64;

Text big_text() { return Text(kBlocks, kWidth); }
Text tied_text() { return Text(3, 8, /*is_tied=*/true); }

AcceleratorOptions sharded(ShardingStrategy strategy = ShardingStrategy::kFullShard) {
  return {.cpu = true,
          .sharding = ShardingOptions{.strategy = strategy,
                                      .auto_wrap_policy = WrapPolicy::kTransformerBased,
                                      .transformer_layer_cls_to_wrap = {"Block"}}};
}

// Returns all parameters and buffers, as bytes would do.
torch::Tensor values_of(const torch::nn::Module& net) {
  std::vector<torch::Tensor> flat;
  for (const torch::Tensor& tensor : net.parameters()) {
    flat.push_back(tensor.detach().clone().flatten().to(torch::kDouble));
  }
  for (const torch::Tensor& tensor : net.buffers()) {
    flat.push_back(tensor.detach().clone().flatten().to(torch::kDouble));
  }
  return torch::cat(flat);
}

std::int64_t bytes_of(const torch::nn::Module& net) {
  std::int64_t bytes = 0;
  for (const torch::Tensor& parameter : net.parameters()) {
    bytes += static_cast<std::int64_t>(parameter.nbytes());
  }
  return bytes;
}

// What a program draws next.
torch::Tensor next_numbers() { return torch::randn({4}); }

torch::Tensor trained(Accelerator& accelerator, const Text& net, Model<Text> model) {
  auto adam = accelerator.prepare(torch::optim::AdamW(net->parameters(), 0.01));
  for (int step = 0; step < 2; ++step) {
    accelerator.backward(model->loss(words_of(step, 0)));
    adam.step();
    adam.zero_grad();
  }
  return values_of(*net);
}

TEST(DeferredInitTest, AnUnmodifiedConstructorTakesNoMemory) {
  on_ranks(1, [] {
    const std::int64_t before = counted().live();
    counted().take_peak();
    const Text net = deferred_init(big_text);
    // States of the generator.
    EXPECT_LE(counted().take_peak(), before + 50'000);
    EXPECT_GT(bytes_of(*net), 500'000);
    EXPECT_TRUE(net->head->weight.is_meta());
    EXPECT_TRUE(net->head->weight.requires_grad());
    EXPECT_TRUE(net->head->weight.is_leaf());
    EXPECT_FALSE(torch::empty({1}).is_meta());
  });
}

TEST(DeferredInitTest, EachStrategyStartsAndTrainsAsAModelThatWasBuiltAsUsual) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    on_ranks(ranks, [&] {
      torch::manual_seed(3);
      const torch::Tensor start = values_of(*tied_text());
      const torch::Tensor next = next_numbers();
      for (const auto strategy :
           {ShardingStrategy::kFullShard, ShardingStrategy::kShardGradOp,
            ShardingStrategy::kHybridShard, ShardingStrategy::kHybridShardZero2,
            ShardingStrategy::kNoShard}) {
        torch::Tensor results[2];
        for (const bool is_deferred : {false, true}) {
          AcceleratorOptions options = sharded(strategy);
          if (ranks == 4 && options.sharding->is_hybrid()) options.sharding->shard_size = 2;
          Accelerator accelerator(options);
          torch::manual_seed(3);
          Text net = is_deferred ? deferred_init(tied_text) : tied_text();
          auto model = accelerator.prepare(net);
          EXPECT_TRUE(torch::equal(next_numbers(), next));
          EXPECT_TRUE(torch::equal(values_of(*net), start));
          results[is_deferred] = trained(accelerator, net, model);
        }
        EXPECT_TRUE(torch::equal(results[0], results[1]));
      }
    });
  }
}

// A rank holds its part, one unit while that is laid out, and one tensor of the replay.
TEST(DeferredInitTest, NoRankHoldsTheWholeModel) {
  on_ranks(2, [] {
    counted();
    Accelerator accelerator(sharded());
    torch::manual_seed(3);
    const torch::Tensor expected = values_of(*big_text()).clone();
    const std::int64_t before = counted().live();
    counted().take_peak();
    torch::manual_seed(3);
    Text net = deferred_init(big_text);
    const std::int64_t whole = bytes_of(*net), unit = whole / kBlocks;
    auto model = accelerator.prepare(net);
    EXPECT_LE(counted().live() - before, whole / 2 + unit / 4);
    EXPECT_LE(counted().take_peak() - before, whole / 2 + unit + unit / 4);
    EXPECT_TRUE(torch::equal(values_of(*net), expected));
  });
}

// Without sharding, values become the parameters and are not copied.
TEST(DeferredInitTest, WithoutShardingTheModelExistsOnce) {
  on_ranks(1, [] {
    counted();
    Accelerator accelerator({.cpu = true});
    const std::int64_t before = counted().live();
    counted().take_peak();
    Text net = deferred_init(big_text);
    auto model = accelerator.prepare(net);
    const std::int64_t whole = bytes_of(*net);
    EXPECT_LE(counted().take_peak() - before, whole + 50'000);
  });
}

TEST(DeferredInitTest, ModelsFollowOneAnotherInEachOrderOfPrepare) {
  for (const bool is_reversed : {false, true}) {
    on_ranks(2, [&] {
      torch::manual_seed(3);
      const torch::Tensor first = values_of(*Text(2, 8)), second = values_of(*Text(3, 8));
      const torch::Tensor next = next_numbers(), after = next_numbers();
      Accelerator accelerator(sharded());
      torch::manual_seed(3);
      const Text one = deferred_init([] { return Text(2, 8); });
      const Text two = deferred_init([] { return Text(3, 8); });
      accelerator.prepare(is_reversed ? two : one);
      EXPECT_TRUE(torch::equal(next_numbers(), next));
      accelerator.prepare(is_reversed ? one : two);
      EXPECT_TRUE(torch::equal(next_numbers(), after));
      EXPECT_TRUE(torch::equal(values_of(*one), first));
      EXPECT_TRUE(torch::equal(values_of(*two), second));
    });
  }
}

TEST(DeferredInitTest, ADrawBeforePrepareLeavesTheGeneratorAlone) {
  on_ranks(1, [] {
    torch::manual_seed(3);
    const torch::Tensor expected = values_of(*tied_text());
    Accelerator accelerator({.cpu = true});
    torch::manual_seed(3);
    const Text net = deferred_init(tied_text);
    torch::manual_seed(5);
    auto model = accelerator.prepare(net);
    EXPECT_TRUE(torch::equal(values_of(*net), expected));
    const torch::Tensor next = next_numbers();
    torch::manual_seed(5);
    EXPECT_TRUE(torch::equal(next, next_numbers()));
  });
}

// As in a start without deferred_init(): all ranks have rank 0's model, and their own generator.
TEST(DeferredInitTest, RanksMayHaveDifferentSeeds) {
  for (const bool is_sharded : {false, true}) {
    on_ranks(2, [&] {
      torch::manual_seed(3);
      const torch::Tensor expected = values_of(*tied_text());
      Accelerator accelerator(is_sharded ? sharded() : AcceleratorOptions{.cpu = true});
      torch::manual_seed(3 + accelerator.process_index());
      (void)tied_text();
      const torch::Tensor next = next_numbers();
      torch::manual_seed(3 + accelerator.process_index());
      const Text net = deferred_init(tied_text);
      auto model = accelerator.prepare(net);
      EXPECT_TRUE(torch::equal(next_numbers(), next));
      EXPECT_TRUE(torch::equal(values_of(*net), expected));
    });
  }
}

TEST(DeferredInitTest, AModelMayBeDeferredInPart) {
  const fs::path folder = fs::path(testing::TempDir()) / "deferred_init_part";
  on_ranks(1, [&] {
    torch::manual_seed(9);
    Accelerator({.cpu = true}).save_model(tied_text(), folder);
  });
  for (const bool is_sharded : {false, true}) {
    on_ranks(2, [&] {
      torch::manual_seed(9);
      const Text loaded = tied_text();
      torch::manual_seed(3);
      const torch::nn::Linear head(8, TextImpl::kWords), other(8, 2);
      Accelerator accelerator(is_sharded ? sharded() : AcceleratorOptions{.cpu = true});
      Text net = without_memory(tied_text);
      torch::manual_seed(3);
      net->head = net->replace_module(
          "head", deferred_init([] { return torch::nn::Linear(8, TextImpl::kWords); }));
      (void)torch::nn::Linear(8, TextImpl::kWords);
      auto usual = net->register_module("other", torch::nn::Linear(8, 2));
      auto model = accelerator.prepare(net);
      const auto is_equal = [](const torch::Tensor& one, const torch::Tensor& two) {
        return torch::equal(one.detach().clone(), two.detach().clone());
      };
      accelerator.load_checkpoint_in_model(model, folder, /*strict=*/false);
      EXPECT_TRUE(is_equal(net->embed->weight, loaded->embed->weight));
      EXPECT_TRUE(is_equal(net->head->weight, loaded->head->weight));
      EXPECT_TRUE(is_equal(usual->weight, other->weight));
    });
  }
}

TEST(DeferredInitTest, IgnoredModulesAndEvaluationModelsAreWhole) {
  on_ranks(2, [] {
    torch::manual_seed(3);
    const torch::Tensor expected = values_of(*tied_text());
    AcceleratorOptions options = sharded();
    options.sharding->ignored_modules = "embed|head";
    Accelerator accelerator(options);
    for (const bool is_evaluated : {false, true}) {
      torch::manual_seed(3);
      const Text net = deferred_init(tied_text);
      auto model = accelerator.prepare_model(net, {.evaluation_mode = is_evaluated});
      EXPECT_TRUE(torch::equal(values_of(*net), expected));
    }
  });
}

// Rank 0's values win, also over a recording.
TEST(DeferredInitTest, OnlyOtherRanksMayDeferWhatRankZeroHasBuilt) {
  on_ranks(2, [] {
    torch::manual_seed(3);
    const torch::Tensor expected = values_of(*tied_text());
    Accelerator accelerator(sharded());
    torch::manual_seed(3 + accelerator.process_index());
    const Text net = accelerator.is_main_process() ? tied_text() : deferred_init(tied_text);
    auto model = accelerator.prepare(net);
    EXPECT_TRUE(torch::equal(values_of(*net), expected));
    // The recording is dropped also if other tensors have no values.
    Text other = accelerator.is_main_process() ? tied_text() : deferred_init(tied_text);
    other->register_module("more", without_memory([] { return torch::nn::Linear(3, 3); }));
    EXPECT_NO_THROW(accelerator.prepare(other));
    EXPECT_THAT(error_of([&] { other->loss(words_of(0, 0)); }), HasSubstr("no values yet"));
  });
  on_ranks(2, [] {
    Accelerator accelerator(sharded());
    const Text net = accelerator.is_main_process() ? deferred_init(tied_text) : tied_text();
    EXPECT_THAT(error_of([&] { accelerator.prepare(net); }), HasSubstr("on one of them only"));
  });
}

TEST(DeferredInitTest, ConstantsAreThoseOfRankZero) {
  for (const bool is_sharded : {false, true}) {
    on_ranks(2, [&] {
      Accelerator accelerator(is_sharded ? sharded() : AcceleratorOptions{.cpu = true});
      const auto index = static_cast<float>(accelerator.process_index());
      const Text net = deferred_init([&] {
        Text made = tied_text();
        const torch::NoGradGuard no_graph;
        made->head->bias.zero_().add_(torch::tensor({index + 5}));
        return made;
      });
      auto model = accelerator.prepare(net);
      EXPECT_TRUE(net->head->bias.eq(5).all().item<bool>());
    });
  }
}

TEST(DeferredInitTest, RanksWhoseConstructorsDifferAreRefused) {
  on_ranks(2, [] {
    Accelerator accelerator(sharded());
    const Text net = deferred_init([&] {
      Text made = tied_text();
      torch::nn::init::constant_(made->head->bias, accelerator.process_index());
      return made;
    });
    EXPECT_THAT(error_of([&] { accelerator.prepare(net); }),
                HasSubstr("has called other operators on rank 1 than on rank 0"));
  });
}

TEST(DeferredInitTest, AModelThatIsNeverPreparedCostsNothing) {
  on_ranks(1, [] {
    torch::manual_seed(3);
    const torch::Tensor next = next_numbers();
    torch::manual_seed(3);
    const std::int64_t before = counted().live();
    (void)deferred_init(tied_text);
    EXPECT_EQ(counted().live(), before);
    EXPECT_TRUE(torch::equal(next_numbers(), next));
  });
}

}  // namespace
}  // namespace accel::runtime
