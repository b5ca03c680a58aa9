// zero_grad() of an optimizer zeroes the gradients that no_sync() keeps of a sharded model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/text_net.h"

namespace accel::runtime {
namespace {

using Tensors = std::vector<torch::Tensor>;

// A sharded run whose parameters belong to two optimizers: those of the head, and all others.
struct TwoOptimizers {
  TwoOptimizers() {
    torch::manual_seed(7);
    net = Text();
    model = accelerator.prepare(net);
    Tensors rest = net->embed->parameters();
    for (const torch::Tensor& one : net->blocks->parameters()) rest.push_back(one);
    of_head = accelerator.prepare(torch::optim::SGD(net->head->parameters(), 0.1));
    of_rest = accelerator.prepare(torch::optim::SGD(rest, 0.1));
  }

  void pass(int step) {
    accelerator.backward(model->loss(words_of(step, accelerator.process_index())));
  }
  void pass_apart(int step) {
    const auto apart = accelerator.no_sync(model);
    pass(step);
  }
  static Tensors gradients(const torch::nn::Module& module) {
    Tensors all;
    for (const torch::Tensor& parameter : module.parameters()) all.push_back(parameter.grad());
    return all;
  }

  Accelerator accelerator{
      {.cpu = true,
       .sharding = ShardingOptions{.auto_wrap_policy = WrapPolicy::kTransformerBased,
                                   .transformer_layer_cls_to_wrap = {"Block"},
                                   .ignored_modules = "blocks\\.1"}}};
  Text net{nullptr};
  Model<Text> model;
  Optimizer<torch::optim::SGD> of_head, of_rest;
};

void expect_equal(const Tensors& expected, const Tensors& results) {
  ASSERT_EQ(expected.size(), results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(expected[i].defined(), results[i].defined()) << "parameter " << i;
    if (!expected[i].defined()) continue;
    EXPECT_TRUE(torch::allclose(expected[i], results[i], 1e-5, 1e-6)) << "parameter " << i;
  }
}

TEST(ZeroedGradientsTest, GradientsOfNoSyncAreZeroedToo) {
  on_ranks(2, [] {
    TwoOptimizers once, twice;
    once.pass(1);
    twice.pass_apart(0);
    for (const bool set_to_none : {true, false}) {
      twice.of_head.zero_grad(set_to_none);
      twice.of_rest.zero_grad(set_to_none);
    }
    twice.pass(1);
    expect_equal(TwoOptimizers::gradients(*once.net), TwoOptimizers::gradients(*twice.net));
  });
}

TEST(ZeroedGradientsTest, GradientsOfOtherOptimizersAreKept) {
  on_ranks(2, [] {
    TwoOptimizers once, both, part;
    once.pass(1);
    both.pass(0);
    both.pass(1);
    part.pass_apart(0);
    part.of_head.zero_grad();
    part.pass(1);
    expect_equal(TwoOptimizers::gradients(*once.net->head),
                 TwoOptimizers::gradients(*part.net->head));
    expect_equal(TwoOptimizers::gradients(*both.net->blocks),
                 TwoOptimizers::gradients(*part.net->blocks));
  });
}

// After a part of them is zeroed, step() is still refused.
TEST(ZeroedGradientsTest, AStepIsPossibleOnceAllAreZeroed) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "zeroed_gradients";
  on_ranks(2, [&] {
    TwoOptimizers run;
    run.pass_apart(0);
    run.of_head.zero_grad();
    EXPECT_THAT(error_of([&] { run.of_rest.step(); }), testing::HasSubstr("outside of no_sync"));
    run.of_rest.zero_grad();
    run.of_rest.step();
    run.accelerator.save_state(folder);
    run.accelerator.wait_for_save();
  });
}

}  // namespace
}  // namespace accel::runtime
