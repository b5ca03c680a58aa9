// Activation checkpointing on one process and on several.
#include "accel/activation_checkpointing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/dropout.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/text_net.h"

namespace accel::runtime {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<torch::Tensor>;

torch::Tensor leaf(double value) { return torch::full({3}, value).requires_grad_(); }

TEST(ActivationCheckpointingTest, GradientsAreThoseOfThePlainFunction) {
  const auto gradients = [](bool is_checkpointed) {
    torch::manual_seed(1);
    torch::nn::Linear inner(3, 3), unused(3, 3);
    const torch::Tensor input = leaf(2);
    int calls = 0;
    const auto function = [&](const torch::Tensor& x) {
      ++calls;
      return torch::nn::functional::dropout(inner->forward(x * x).relu());
    };
    // The outer use of the inputs and of the parameters adds to the gradients.
    const torch::Tensor h = input * 3;
    torch::Tensor y = is_checkpointed ? checkpoint(function, h) : function(h);
    (y.sum() + inner->forward(input).sum() + h.sum()).backward();
    EXPECT_EQ(calls, is_checkpointed ? 2 : 1);
    EXPECT_FALSE(unused->weight.grad().defined());
    return Tensors{input.grad(), inner->weight.grad(), inner->bias.grad(), y.detach(),
                   torch::rand({2})};
  };
  const Tensors plain = gradients(false), again = gradients(true);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(plain[i].equal(again[i])) << i;
}

TEST(ActivationCheckpointingTest, ArgumentsAndResultsMayBeNested) {
  const torch::Tensor a = leaf(2), b = leaf(5), fixed = torch::ones({3});
  const auto [sum, list] = checkpoint(
      [](const std::pair<torch::Tensor, torch::Tensor>& both, const Tensors& more, int times) {
        return std::pair(both.first + times * both.second,
                         Tensors{both.first * more[0], more[1].argmax(), torch::Tensor()});
      },
      std::pair(a, b), Tensors{b, fixed}, 4);
  EXPECT_FALSE(list[1].requires_grad());
  EXPECT_FALSE(list[2].defined());
  (sum + list[0]).sum().backward();
  EXPECT_TRUE(a.grad().equal(torch::full({3}, 6.)));
  EXPECT_TRUE(b.grad().equal(torch::full({3}, 6.)));
  EXPECT_FALSE(fixed.grad().defined());
}

TEST(ActivationCheckpointingTest, ActivationsAreNotKept) {
  const torch::Tensor input = leaf(2);
  torch::weak_intrusive_ptr<at::TensorImpl> activation{torch::ones({1}).getIntrusivePtr()};
  const torch::Tensor y = checkpoint(
      [&](const torch::Tensor& x) {
        const torch::Tensor square = x * x;
        activation = torch::weak_intrusive_ptr<at::TensorImpl>(square.getIntrusivePtr());
        return square * square;
      },
      input);
  EXPECT_TRUE(activation.expired());
  y.sum().backward();
  EXPECT_TRUE(activation.expired());
  EXPECT_TRUE(input.grad().equal(torch::full({3}, 32.)));
}

TEST(ActivationCheckpointingTest, PartsMayBeNestedAndReturnWhatTheyAreGiven) {
  const torch::Tensor input = leaf(2), weight = leaf(3);
  const auto inner = [&](const torch::Tensor& x) { return x * weight; };
  const auto outer = [&](const torch::Tensor& x) {
    return std::vector{checkpoint(inner, checkpoint(inner, x)), x, weight};
  };
  const Tensors all = checkpoint(outer, input * 1);
  (all[0] + all[1] + all[2]).sum().backward();
  EXPECT_TRUE(input.grad().equal(torch::full({3}, 10.)));
  EXPECT_TRUE(weight.grad().equal(torch::full({3}, 13.)));
}

TEST(ActivationCheckpointingTest, AResultMayBeAnArgumentThatNothingUses) {
  const torch::Tensor input = leaf(2), passed = leaf(3), weight = leaf(4);
  const auto all = checkpoint(
      [&](const torch::Tensor& x, const torch::Tensor& r) {
        return Tensors{x * x, r, weight};
      },
      input * 1, passed * 1);
  (all[0] + 2 * all[1] + 3 * all[2]).sum().backward();
  EXPECT_TRUE(input.grad().equal(torch::full({3}, 4.)));
  EXPECT_TRUE(passed.grad().equal(torch::full({3}, 2.)));
  EXPECT_TRUE(weight.grad().equal(torch::full({3}, 3.)));

  // A change of such a result is a change of the argument.
  const torch::Tensor h = input * 1;
  const Tensors same = checkpoint([](const torch::Tensor& x) { return Tensors{x * x, x}; }, h);
  {
    const torch::NoGradGuard no_graph;
    same[1].add_(1);
  }
  EXPECT_ANY_THROW(same[0].sum().backward());
}

TEST(ActivationCheckpointingTest, HooksOfParametersRunOnce) {
  const torch::Tensor input = leaf(2), weight = leaf(3);
  weight.register_hook([](const torch::Tensor& gradient) { return 10 * gradient; });
  checkpoint([&](const torch::Tensor& x) { return x * weight; }, input).sum().backward();
  EXPECT_TRUE(weight.grad().equal(torch::full({3}, 20.)));
}

TEST(ActivationCheckpointingTest, AutocastIsRepeated) {
  const auto gradient = [](bool is_checkpointed) {
    torch::manual_seed(3);
    torch::nn::Linear inner(8, 8);
    const torch::Tensor x = torch::rand({4, 8});
    torch::Tensor y;
    at::autocast::set_autocast_enabled(at::kCPU, true);
    const torch::Tensor before = inner->forward(x);  // Autocast keeps the cast weight.
    y = is_checkpointed ? checkpoint(inner, x) : inner->forward(x);
    EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
    (y.pow(2).sum() + before.sum()).backward();
    return inner->weight.grad();
  };
  EXPECT_TRUE(gradient(true).allclose(gradient(false), 1e-2, 1e-2));
}

TEST(ActivationCheckpointingTest, WithoutGradientsNothingIsRepeated) {
  const std::uint64_t before = recomputed_calls();
  const torch::Tensor fixed = torch::ones({3});
  EXPECT_FALSE(checkpoint([](const torch::Tensor& x) { return x + 1; }, fixed).requires_grad());
  const torch::NoGradGuard no_graph;
  EXPECT_FALSE(checkpoint([](const torch::Tensor& x) { return x + 1; }, leaf(1)).requires_grad());
  EXPECT_EQ(recomputed_calls(), before);
}

TEST(ActivationCheckpointingTest, MisuseIsAnErrorThatSaysWhatToDo) {
  const torch::Tensor input = leaf(2), outside = input * 2;
  EXPECT_THAT(error_of<std::invalid_argument>(
                  [&] { checkpoint([&](const torch::Tensor& x) { return x * outside; }, input); }),
              HasSubstr("pass it as an argument"));

  int calls = 0;
  const torch::Tensor shrinking = checkpoint(
      [&](const torch::Tensor& x) { return ++calls == 1 ? x * 2 : x.narrow(0, 0, 2) * 2; }, input);
  EXPECT_THAT(error_of<std::runtime_error>([&] { shrinking.sum().backward(); }),
              HasSubstr("it must compute the same each time"));

  const torch::Tensor twice = checkpoint([](const torch::Tensor& x) { return x * x; }, input);
  EXPECT_THAT(error_of<std::logic_error>(
                  [&] { twice.sum().backward({}, /*retain_graph=*/true, /*create_graph=*/true); }),
              HasSubstr("create_graph"));
  twice.sum().backward({}, /*retain_graph=*/true);
  twice.sum().backward();
  EXPECT_TRUE(input.grad().equal(torch::full({3}, 8.)));
  EXPECT_ANY_THROW(twice.sum().backward());

  torch::Tensor changed = input * 1;
  const torch::Tensor late = checkpoint([](const torch::Tensor& x) { return x * x; }, changed);
  changed.mul_(2);
  EXPECT_ANY_THROW(late.sum().backward());
}

// Trains three steps on two ranks and returns the losses and, on rank 0, the parameters.
Tensors train(bool is_checkpointed, AcceleratorOptions options) {
  Accelerator accelerator(std::move(options));
  torch::manual_seed(7);
  Text net(3, 8);
  net->is_checkpointed = is_checkpointed;
  auto [model, optimizer] = accelerator.prepare(net, torch::optim::AdamW(net->parameters(), 0.01));
  Tensors results;
  for (int step = 0; step < 3; ++step) {
    const torch::Tensor loss = model->loss(words_of(step, accelerator.process_index()));
    accelerator.backward(loss);
    optimizer.step();
    optimizer.zero_grad();
    results.push_back(loss.detach());
  }
  const auto state = accelerator.get_state_dict(model);
  if (!accelerator.is_main_process()) return results;
  for (const auto& item : state) results.push_back(item.value().clone());
  return results;
}

void expect_equal(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].equal(b[i])) << i;
}

TEST(ActivationCheckpointingTest, TrainsAlikeOnSeveralRanks) {
  if (on_ranks(2, [] {
        expect_equal(train(true, {}), train(false, {}));
        expect_equal(train(true, {.data_parallel = {.find_unused_parameters = true}}),
                     train(false, {}));
      })) {
    return;
  }
}

TEST(ActivationCheckpointingTest, TrainsAlikeWithSharding) {
  if (on_ranks(2, [] {
        for (const auto strategy : {ShardingStrategy::kFullShard, ShardingStrategy::kShardGradOp}) {
          const ShardingOptions options{.strategy = strategy,
                                        .auto_wrap_policy = WrapPolicy::kTransformerBased,
                                        .transformer_layer_cls_to_wrap = {"Block"},
                                        .activation_checkpointing = true};
          expect_equal(train(true, {.sharding = options}), train(false, {}));
          EXPECT_THAT(error_of<std::runtime_error>([&] { train(false, {.sharding = options}); }),
                      HasSubstr("accel::checkpoint"));
        }
      })) {
    return;
  }
}

}  // namespace
}  // namespace accel::runtime
