#include "runtime/optim/gradient_norm.h"

#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/types.h>

#include <cmath>
#include <limits>
#include <vector>

namespace accel::runtime {
namespace {

using Tensors = std::vector<torch::Tensor>;

// Returns parameters with the same gradients at each call, one of them in fp64, one without.
Tensors make_parameters() {
  torch::manual_seed(3);
  Tensors parameters{torch::zeros({4, 3}), torch::zeros({}), torch::zeros({5}, torch::kDouble)};
  for (torch::Tensor& parameter : parameters) {
    parameter.mutable_grad() = torch::randn_like(parameter);
  }
  parameters.push_back(torch::zeros({2}));
  return parameters;
}

TEST(GradientNormTest, ClipsAsLibTorchDoes) {
  for (const double type : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    for (const double limit : {0.5, 1000.0}) {
      const Tensors ours = make_parameters(), theirs = make_parameters();
      const double expected = torch::nn::utils::clip_grad_norm_(theirs, limit, type);
      EXPECT_NEAR(clip_gradient_norm(ours, limit, type).item<double>(), expected, 1e-5);
      for (std::size_t i = 0; i + 1 < ours.size(); ++i) {
        EXPECT_TRUE(torch::allclose(ours[i].grad(), theirs[i].grad())) << type << " " << limit;
      }
    }
  }
}

TEST(GradientNormTest, WithoutGradientsTheNormIsZero) {
  EXPECT_EQ(clip_gradient_norm({torch::zeros({2})}, 1, 2).item<float>(), 0);
  EXPECT_EQ(clip_gradient_norm({}, 1, 2).item<float>(), 0);
}

// In fp16, the sum of squares alone would be infinite.
TEST(GradientNormTest, NormsOf16BitGradientsDoNotOverflow) {
  torch::Tensor parameter = torch::zeros({100}, torch::kHalf);
  parameter.mutable_grad() = torch::full({100}, 1000, torch::kHalf);
  EXPECT_FLOAT_EQ(clip_gradient_norm({parameter}, 1, 2).item<float>(), 10000);
  EXPECT_NEAR(parameter.grad()[0].item<float>(), 0.1, 1e-4);
}

// The rows of an embedding that were looked up twice count with their sum.
TEST(GradientNormTest, SparseGradientsAreClippedAsDenseOnes) {
  torch::Tensor parameter = torch::zeros({4, 1});
  parameter.mutable_grad() = torch::sparse_coo_tensor(torch::tensor({{1, 1, 2}}),
                                                      torch::tensor({{1.f}, {2.f}, {4.f}}), {4, 1});
  EXPECT_FLOAT_EQ(clip_gradient_norm({parameter}, 1, 2).item<float>(), 5);
  EXPECT_TRUE(torch::allclose(parameter.grad().to_dense().flatten(),
                              torch::tensor({0.f, 0.6f, 0.8f, 0.f})));
}

TEST(GradientNormTest, AnInfiniteGradientShowsInTheNorm) {
  torch::Tensor parameter = torch::zeros({2});
  parameter.mutable_grad() = torch::full({2}, std::numeric_limits<float>::infinity());
  EXPECT_FALSE(std::isfinite(clip_gradient_norm({parameter}, 1, 2).item<float>()));
}

}  // namespace
}  // namespace accel::runtime
