// The fused optimizers next to LibTorch's: they make the same steps, and read each other's
// archives.
#include "accel/optim.h"

#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/serialize.h>
#include <torch/types.h>

#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace accel::optim {
namespace {

using Tensors = std::vector<torch::Tensor>;

// Returns parameters of several shapes, memory layouts and dtypes, the same ones at each call.
Tensors make_parameters() {
  torch::manual_seed(3);
  Tensors parameters{torch::randn({7, 5}),
                     torch::randn({}),
                     torch::randn({1000}),
                     torch::randn({2, 3, 4, 5}).contiguous(torch::MemoryFormat::ChannelsLast),
                     torch::randn({6}, torch::kDouble),
                     torch::randn({3})};
  for (torch::Tensor& parameter : parameters) parameter.requires_grad_();
  return parameters;
}

// Gives all parameters but the last one a gradient, the same ones for the same `step`.
void set_gradients(const Tensors& parameters, int step) {
  torch::manual_seed(100 + step);
  for (std::size_t i = 0; i + 1 < parameters.size(); ++i) {
    parameters[i].mutable_grad() = torch::randn_like(parameters[i]);
  }
}

// Counts the calls of fused kernels in `body`.
int fused_calls(const std::function<void()>& body) {
  static int calls = 0;
  calls = 0;
  const at::CallbackHandle handle = at::addThreadLocalCallback(at::RecordFunctionCallback(
      [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
        if (std::strstr(call.name(), "aten::_fused_") != nullptr) ++calls;
        return nullptr;
      }));
  body();
  at::removeCallback(handle);
  return calls;
}

template <typename Optim, typename Options>
std::unique_ptr<Optim> make(const Tensors& parameters, const Options& options) {
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(Tensors(parameters.begin(), parameters.begin() + 3),
                      std::make_unique<Options>(options));
  Options slower = options;
  slower.lr(options.lr() / 10);
  groups.emplace_back(Tensors(parameters.begin() + 3, parameters.end()),
                      std::make_unique<Options>(slower));
  return std::make_unique<Optim>(groups, options);
}

void make_steps(torch::optim::Optimizer& optimizer, const Tensors& parameters, int from, int to) {
  for (int step = from; step < to; ++step) {
    set_gradients(parameters, step);
    optimizer.step();
  }
}

void expect_equal(const Tensors& ours, const Tensors& theirs) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(torch::allclose(ours[i], theirs[i], 1e-5, 1e-7)) << "parameter " << i;
  }
}

template <typename Optim>
std::string saved(const Optim& optimizer) {
  std::ostringstream stream;
  torch::save(optimizer, stream);
  return stream.str();
}

// Steps with both, then exchanges their states through archives, and steps again.
template <typename Ours, typename Theirs, typename Options>
void compare(const Options& options) {
  Tensors our_parameters = make_parameters(), their_parameters = make_parameters();
  auto ours = make<Ours>(our_parameters, options);
  auto theirs = make<Theirs>(their_parameters, options);
  EXPECT_GT(fused_calls([&] { make_steps(*ours, our_parameters, 0, 5); }), 0);
  make_steps(*theirs, their_parameters, 0, 5);
  expect_equal(our_parameters, their_parameters);

  auto our_next = make<Ours>(our_parameters, options);
  auto their_next = make<Theirs>(their_parameters, options);
  std::istringstream from_theirs(saved(*theirs)), from_ours(saved(*ours));
  torch::load(*our_next, from_theirs);
  torch::load(*their_next, from_ours);
  make_steps(*our_next, our_parameters, 5, 8);
  make_steps(*their_next, their_parameters, 5, 8);
  expect_equal(our_parameters, their_parameters);
}

TEST(OptimTest, AdamWStepsAsLibTorchs) {
  for (const bool amsgrad : {false, true}) {
    compare<AdamW, torch::optim::AdamW>(
        torch::optim::AdamWOptions(0.01).weight_decay(0.1).amsgrad(amsgrad));
  }
}

TEST(OptimTest, AdamStepsAsLibTorchs) {
  for (const double decay : {0.0, 0.1}) {
    compare<Adam, torch::optim::Adam>(
        torch::optim::AdamOptions(0.01).betas({0.8, 0.9}).eps(1e-6).weight_decay(decay));
  }
}

TEST(OptimTest, SgdStepsAsLibTorchs) {
  compare<SGD, torch::optim::SGD>(torch::optim::SGDOptions(0.01).weight_decay(0.1));
  compare<SGD, torch::optim::SGD>(torch::optim::SGDOptions(0.01).momentum(0.9).dampening(0.2));
  compare<SGD, torch::optim::SGD>(
      torch::optim::SGDOptions(0.01).momentum(0.9).nesterov(true).weight_decay(0.1));
}

TEST(OptimTest, AParameterWhoseGradientComesLaterStartsThen) {
  const auto options = torch::optim::SGDOptions(0.1).momentum(0.9);
  Tensors our_parameters = make_parameters(), their_parameters = make_parameters();
  SGD ours(our_parameters, options);
  torch::optim::SGD theirs(their_parameters, options);
  for (const auto& [optimizer, parameters] :
       {std::pair<torch::optim::Optimizer*, Tensors>{&ours, our_parameters},
        {&theirs, their_parameters}}) {
    make_steps(*optimizer, parameters, 0, 2);
    parameters.back().mutable_grad() = torch::ones_like(parameters.back());
    make_steps(*optimizer, parameters, 2, 4);
  }
  expect_equal(our_parameters, their_parameters);
}

// Autograd leaves the gradient of a weight with one row as it is, with other strides.
TEST(OptimTest, ADimensionWithOneElementMayHaveAnyStride) {
  Tensors parameters{torch::ones({1, 4})};
  parameters[0].requires_grad_();
  parameters[0].mutable_grad() = torch::ones({1, 4}).as_strided({1, 4}, {1, 1});
  AdamW optimizer(parameters, torch::optim::AdamWOptions(0.1));
  EXPECT_GT(fused_calls([&] { optimizer.step(); }), 0);
}

TEST(OptimTest, GradientsWithoutAKernelAreSteppedByLibTorch) {
  torch::Tensor ours = torch::ones({4, 2}).requires_grad_();
  torch::Tensor other_layout = torch::ones({4, 2}).requires_grad_();
  SGD sgd({ours, other_layout}, 0.5);
  const torch::Tensor rows = torch::tensor({{1, 3}}, torch::kLong);
  ours.mutable_grad() = torch::sparse_coo_tensor(rows, torch::ones({2, 2}), {4, 2});
  EXPECT_EQ(fused_calls([&] { sgd.step(); }), 0);
  EXPECT_TRUE(torch::equal(ours.sum(1), torch::tensor({2.f, 1.f, 2.f, 1.f})));

  ours.mutable_grad() = torch::Tensor();
  other_layout.mutable_grad() = torch::ones({2, 4}).t();
  EXPECT_EQ(fused_calls([&] { sgd.step(); }), 0);
  EXPECT_TRUE(torch::equal(other_layout, torch::full({4, 2}, 0.5f)));
}

TEST(OptimTest, AClosureRunsOnceWithGradientsAndItsLossIsReturned) {
  torch::Tensor weight = torch::ones({1}).requires_grad_();
  AdamW adam({weight}, torch::optim::AdamWOptions(0.1).weight_decay(0));
  int calls = 0;
  const torch::NoGradGuard no_grad;
  const torch::Tensor loss = adam.step([&] {
    ++calls;
    torch::Tensor result = (weight * 3).sum();
    result.backward();
    return result;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(loss.item<float>(), 3);
  EXPECT_NEAR(weight.item<float>(), 0.9, 1e-6);
}

}  // namespace
}  // namespace accel::optim
