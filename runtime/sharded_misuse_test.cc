// Misuse of a sharded model is refused with what to do, and so are ranks that use it differently.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/text_net.h"
#include "runtime/testing/text_sharding.h"

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;

TEST(ShardedMisuseTest, MisuseIsRefusedWithWhatToDo) {
  on_ranks(2, [] {
    Accelerator accelerator(with(kBlocks));
    Text net = seeded_net(7);
    auto [model, optimizer] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.1));
    const auto loss = [&, &prepared = model] {
      return prepared->loss(words_of(0, accelerator.process_index()));
    };
    EXPECT_THAT(error_of([&] {
                  const torch::NoGradGuard no_graph;
                  net->head->bias.zero_();
                }),
                HasSubstr("aten::zero_ would write to a parameter of Text, which is sharded"));
    EXPECT_THAT(error_of([&, &sgd = optimizer] { sgd.step(loss); }), HasSubstr("no closure"));
    {
      const auto apart = accelerator.no_sync(model);
      accelerator.backward(loss());
      EXPECT_THAT(error_of([&, &sgd = optimizer] { sgd.step(); }), HasSubstr("outside of no_sync"));
    }
    accelerator.backward(loss());
    optimizer.step();
    EXPECT_THAT(error_of([&] { accelerator.join_uneven_inputs([] {}); }), HasSubstr("sharded"));
    auto lonely =
        accelerator.prepare(torch::optim::SGD({torch::zeros({3}, torch::requires_grad())}, 0.1));
    EXPECT_THAT(error_of([&] { lonely.step(); }), HasSubstr("with sharding"));
    EXPECT_THAT(
        error_of([&] {
          Accelerator(with(sharded(ShardingStrategy::kFullShard, {"Bloc"}))).prepare(seeded_net(1));
        }),
        HasSubstr("Bloc"));
  });
}

void expect_difference(const std::function<void(Accelerator&, Model<Text>&)>& apart,
                       const std::vector<std::string>& texts) {
  Accelerator accelerator(with(kBlocks, {.timeout = std::chrono::seconds(20)}));
  auto model = accelerator.prepare(seeded_net(7));
  const auto begin = std::chrono::steady_clock::now();
  const std::string error = error_of([&] { apart(accelerator, model); });
  for (const std::string& text : texts) EXPECT_THAT(error, HasSubstr(text));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST(ShardedMisuseTest, ARankThatRunsAnotherUnitIsNamedWithTheUnit) {
  on_ranks(2, [] {
    expect_difference(
        [](Accelerator& accelerator, Model<Text>& model) {
          const auto block = static_cast<std::size_t>(accelerator.process_index());
          const torch::Tensor h = model->embed(words_of(0, 0));
          accelerator.backward(model->blocks[block]->as<Block>()->forward(h).square().mean());
        },
        {"rank 0 did gather blocks.0; rank 1 did gather blocks.1"});
  });
}

TEST(ShardedMisuseTest, ARankThatMakesOneForwardPassFewerIsNamedWithTheUnit) {
  on_ranks(2, [] {
    expect_difference(
        [](Accelerator& accelerator, Model<Text>& model) {
          const torch::Tensor x = words_of(0, 0);
          if (accelerator.process_index() == 0) model->loss(x);
          accelerator.backward(model->loss(x));
        },
        {"blocks."});
  });
}

}  // namespace
}  // namespace accel::runtime
