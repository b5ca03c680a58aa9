#include "runtime/checkpoint/optimizer_moments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/lbfgs.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/testing/error_of.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

namespace optim = torch::optim;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Makes a step. Returns the only parameter, and the optimizer.
template <typename Optim, typename Options>
std::pair<torch::Tensor, std::unique_ptr<Optim>> stepped(const Options& options) {
  const torch::Tensor parameter = torch::ones({3}, torch::requires_grad());
  auto optimizer = std::make_unique<Optim>(std::vector{parameter}, options);
  parameter.mutable_grad() = torch::ones({3});
  optimizer->step();
  return {parameter, std::move(optimizer)};
}

// Returns the names of the moments that are defined.
template <typename Optim, typename Options>
std::vector<std::string> defined_after_a_step(const Options& options) {
  const auto [parameter, optimizer] = stepped<Optim>(options);
  optim::OptimizerParamState& state = *optimizer->state().at(parameter.unsafeGetTensorImpl());
  const auto moments = moments_of(state);
  const auto names = moment_names(state);
  EXPECT_TRUE(moments.has_value());
  EXPECT_EQ(known_moments_of(state), *moments);
  EXPECT_EQ(moments->size(), names.size());
  std::vector<std::string> defined;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if ((*moments)[i]->defined()) defined.push_back(names[i]);
  }
  return defined;
}

TEST(OptimizerMomentsTest, EachMomentHasPythonsName) {
  EXPECT_THAT(defined_after_a_step<optim::Adam>(optim::AdamOptions(0.1)),
              ElementsAre("exp_avg", "exp_avg_sq"));
  EXPECT_THAT(defined_after_a_step<optim::AdamW>(optim::AdamWOptions(0.1).amsgrad(true)),
              ElementsAre("exp_avg", "exp_avg_sq", "max_exp_avg_sq"));
  EXPECT_THAT(defined_after_a_step<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9)),
              ElementsAre("momentum_buffer"));
  EXPECT_THAT(defined_after_a_step<optim::Adagrad>(optim::AdagradOptions(0.1)), ElementsAre("sum"));
  EXPECT_THAT(defined_after_a_step<optim::RMSprop>(optim::RMSpropOptions(0.1)),
              ElementsAre("square_avg"));
  EXPECT_THAT(defined_after_a_step<optim::RMSprop>(optim::RMSpropOptions(0.1).momentum(0.9)),
              ElementsAre("square_avg", "momentum_buffer"));
  EXPECT_THAT(defined_after_a_step<optim::RMSprop>(optim::RMSpropOptions(0.1).centered(true)),
              ElementsAre("square_avg", "grad_avg"));
}

TEST(OptimizerMomentsTest, AMomentIsTheTensorOfTheState) {
  const auto [parameter, adam] = stepped<optim::Adam>(optim::AdamOptions(0.1));
  auto& state =
      static_cast<optim::AdamParamState&>(*adam->state().at(parameter.unsafeGetTensorImpl()));
  *known_moments_of(state)[1] = torch::full({3}, 7.0);
  EXPECT_EQ(state.exp_avg_sq().sum().item<double>(), 21);
}

TEST(OptimizerMomentsTest, AStateOfAnotherClassIsUnknown) {
  optim::LBFGSParamState state;
  EXPECT_FALSE(moments_of(state).has_value());
  EXPECT_THAT(error_of([&] { known_moments_of(state); }), HasSubstr("cannot be saved or loaded"));
}

}  // namespace
}  // namespace accel::runtime
