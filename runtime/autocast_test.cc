// Autocast in prepared models and around them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "accel/accelerator.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

// All types that a model may return.
struct Outputs : torch::nn::Module {
  using Nested = std::tuple<torch::Tensor, std::optional<std::vector<torch::Tensor>>,
                            std::map<std::string, std::pair<torch::Tensor, int>>>;

  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(4, 4));
  at::ScalarType computed_in = at::kLong;

  Nested forward(const torch::Tensor& x) {
    const torch::Tensor y = linear(x);
    computed_in = y.scalar_type();
    return {
        y, std::vector{y, x.to(torch::kDouble), torch::Tensor()}, {{"a", {y.to(at::kHalf), 7}}}};
  }
};

TEST(AutocastTest, ModelsComputeInTheGivenPrecisionAndReturnFp32) {
  const std::map<MixedPrecision, at::ScalarType> expected{{MixedPrecision::kNo, at::kFloat},
                                                          {MixedPrecision::kFp16, at::kHalf},
                                                          {MixedPrecision::kBf16, at::kBFloat16}};
  for (const auto& [precision, dtype] : expected) {
    Accelerator accelerator({.mixed_precision = precision});
    auto model = accelerator.prepare(std::make_shared<Outputs>());
    auto [y, list, map] = model(torch::randn({2, 4}));
    EXPECT_EQ(model->computed_in, dtype);
    EXPECT_EQ(y.scalar_type(), at::kFloat);
    EXPECT_EQ(list->at(0).scalar_type(), at::kFloat);
    EXPECT_EQ(list->at(1).scalar_type(), at::kDouble);
    EXPECT_FALSE(list->at(2).defined());
    const bool converted = precision != MixedPrecision::kNo;
    EXPECT_EQ(map.at("a").first.scalar_type(), converted ? at::kFloat : at::kHalf);
    EXPECT_EQ(map.at("a").second, 7);
    EXPECT_EQ(model->linear->weight.scalar_type(), at::kFloat);
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  }
}

TEST(AutocastTest, TheLauncherMayChooseThePrecision) {
  setenv("ACCELERATE_MIXED_PRECISION", "bf16", 1);
  EXPECT_EQ(Accelerator().mixed_precision(), MixedPrecision::kBf16);
  setenv("ACCELERATE_MIXED_PRECISION", "no", 1);
  EXPECT_EQ(Accelerator({.mixed_precision = MixedPrecision::kFp16}).mixed_precision(),
            MixedPrecision::kFp16);
  unsetenv("ACCELERATE_MIXED_PRECISION");
}

std::tuple<bool, bool, at::ScalarType> autocast_state() {
  return {at::autocast::is_autocast_enabled(at::kCPU), at::autocast::is_autocast_cache_enabled(),
          at::autocast::get_autocast_dtype(at::kCPU)};
}

at::ScalarType product_type() {
  const torch::Tensor a = torch::ones({2, 2});
  return torch::mm(a, a).scalar_type();
}

TEST(AutocastTest, ScopesNestAndRestoreWhatWasBefore) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kBf16});
  at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
  const auto before = autocast_state();
  {
    auto outer = accelerator.autocast();
    EXPECT_EQ(product_type(), at::kBFloat16);
    {
      auto inner = accelerator.autocast({.enabled = false, .cache_enabled = false});
      EXPECT_EQ(product_type(), at::kFloat);
      EXPECT_FALSE(at::autocast::is_autocast_cache_enabled());
    }
    EXPECT_EQ(product_type(), at::kBFloat16);
    EXPECT_TRUE(at::autocast::is_autocast_cache_enabled());
  }
  EXPECT_EQ(autocast_state(), before);
  try {
    auto scope = accelerator.autocast();
    throw std::runtime_error("left");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(autocast_state(), before);
  Accelerator plain;
  auto scope = plain.autocast();
  EXPECT_EQ(product_type(), at::kFloat);
  EXPECT_EQ(at::autocast::increment_nesting(), 1) << "a scope was left open";
  at::autocast::decrement_nesting();
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
}

// Within a scope a parameter is cast once. After the outermost scope, its new values must
// be cast again.
TEST(AutocastTest, TheNextForwardPassSeesTheStep) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kBf16});
  torch::nn::Linear net(torch::nn::LinearOptions(1, 1).bias(false));
  auto [model, optimizer] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.5));
  for (float expected : {1.0f, 0.5f, 0.0f}) {
    if (expected == 1) net->weight.detach().fill_(1);
    const torch::Tensor y = model(torch::ones({1, 1}));
    EXPECT_EQ(y.item<float>(), expected);
    optimizer.zero_grad();
    accelerator.backward(y.sum());
    optimizer.step();
  }
}

using Net = torch::nn::Linear;

// Returns the error of backward() for the loss that `loss_of` computes from a model in bf16 and its
// module, or "nothing was thrown".
std::string refusal(const std::function<torch::Tensor(Accelerator&, Model<Net>&, Net&)>& loss_of) {
  Accelerator accelerator({.mixed_precision = MixedPrecision::kBf16});
  Net net(2, 1);
  auto model = accelerator.prepare(net);
  const torch::Tensor loss = loss_of(accelerator, model, net);
  return error_of<std::logic_error>([&] { accelerator.backward(loss); });
}

const torch::Tensor kOnes = torch::ones({1, 2});

TEST(AutocastTest, AModelThatRanOutsideOfItIsRefused) {
  const auto refused =
      testing::AllOf(testing::HasSubstr("Linear"), testing::HasSubstr("call the prepared model"));
  EXPECT_THAT(refusal([](auto&, auto& model, auto&) { return model->forward(kOnes).sum(); }),
              refused);
  EXPECT_THAT(refusal([](auto&, auto&, auto& net) { return net(kOnes).sum(); }), refused);
  EXPECT_THAT(refusal([](auto& accelerator, auto& model, auto& net) {
                const torch::Tensor first = model(kOnes).sum();
                accelerator.backward(first);
                return net(kOnes).sum();
              }),
              refused);
}

TEST(AutocastTest, AModelThatRanWithinItIsNot) {
  const auto taken = testing::Eq("nothing was thrown");
  EXPECT_THAT(refusal([](auto&, auto& model, auto&) { return model(kOnes).sum(); }), taken);
  EXPECT_THAT(refusal([](auto& accelerator, auto&, auto& net) {
                auto scope = accelerator.autocast();
                return net(kOnes).to(torch::kFloat).sum();
              }),
              taken);
  EXPECT_THAT(refusal([](auto& accelerator, auto&, auto& net) {
                auto scope = accelerator.autocast({.enabled = false, .cache_enabled = true});
                return net(kOnes).sum();
              }),
              taken);
  EXPECT_THAT(refusal([](auto&, auto& model, auto& net) {  // A penalty on the weights.
                return model(kOnes).sum() + net->weight.square().sum();
              }),
              taken);
  EXPECT_THAT(refusal([](auto& accelerator, auto& model, auto&) {  // Two losses of one call.
                const torch::Tensor y = model(kOnes);
                accelerator.backward(y.sum(), {.retain_graph = true});
                return y.square().sum();
              }),
              taken);
  EXPECT_THAT(refusal([](auto&, auto& model, auto&) {  // Older than the kept regions.
                const torch::Tensor first = model(kOnes).sum();
                for (int i = 0; i < 1000; ++i) model(kOnes);
                return first;
              }),
              taken);
  EXPECT_THAT(refusal([](auto&, auto&, auto&) {
                return (kOnes * torch::ones({1, 2}, torch::requires_grad())).sum();
              }),
              taken);
}

}  // namespace
}  // namespace accel::runtime
