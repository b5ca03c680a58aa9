#include "runtime/parallel/gradient_hook.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <vector>

#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

// A hooked parameter, and another one that always requires a gradient.
struct HookedParameter {
  torch::Tensor parameter = torch::ones({2}, torch::requires_grad());
  torch::Tensor other = torch::ones({2}, torch::requires_grad());
  std::vector<torch::Tensor> arrived;  // The gradient at each call.
  std::unique_ptr<GradientHook> hook = std::make_unique<GradientHook>(
      [this] { arrived.push_back(parameter.grad().detach().clone()); });

  void pass() { (3 * parameter + other).sum().backward(); }
};

TEST(GradientHookTest, IsCalledOnceAPassWhenTheGradientHasBeenAddedUp) {
  HookedParameter hooked;
  hooked.hook->follow(hooked.parameter);
  hooked.hook->follow(hooked.parameter);
  hooked.pass();
  hooked.pass();
  ASSERT_EQ(hooked.arrived.size(), 2u);
  EXPECT_TRUE(torch::equal(hooked.arrived[0], torch::full({2}, 3.0)));
  EXPECT_TRUE(torch::equal(hooked.arrived[1], torch::full({2}, 6.0)));
}

TEST(GradientHookTest, FollowsAParameterThatIsFrozenAndUnfrozen) {
  HookedParameter hooked;
  hooked.hook->follow(hooked.parameter);
  hooked.parameter.requires_grad_(false);
  hooked.hook->follow(hooked.parameter);
  hooked.pass();
  EXPECT_TRUE(hooked.arrived.empty());
  hooked.parameter.requires_grad_(true);
  hooked.hook->follow(hooked.parameter);
  hooked.pass();
  EXPECT_EQ(hooked.arrived.size(), 1u);
}

TEST(GradientHookTest, IsNotCalledAfterItsEnd) {
  HookedParameter hooked;
  hooked.hook->follow(hooked.parameter);
  const auto node = torch::autograd::impl::grad_accumulator(hooked.parameter);
  hooked.hook = nullptr;
  hooked.pass();
  EXPECT_TRUE(hooked.arrived.empty());
  EXPECT_TRUE(hooked.parameter.grad().defined());
  EXPECT_TRUE(node->post_hooks().empty());
}

}  // namespace
}  // namespace accel::runtime
