// Which gradients optimizers step on: those that backward() has reduced and weighed.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "runtime/accelerator.h"
#include "runtime/testing/training.h"

namespace accel {
namespace {

// y = w * x: the gradient of w is x.
struct Weight : torch::nn::Module {
  torch::Tensor w = register_parameter("w", torch::zeros({1}));
  torch::Tensor forward(const torch::Tensor& x) { return w * x; }
};

// A prepared weight and its optimizer, of rate 1.
struct Training {
  explicit Training(Accelerator& accelerator)
      : model(accelerator.prepare(weight)),
        optimizer(accelerator.prepare(torch::optim::SGD(weight->parameters(), 1.0))) {}

  std::shared_ptr<Weight> weight = std::make_shared<Weight>();
  Model<std::shared_ptr<Weight>> model;
  Optimizer<torch::optim::SGD> optimizer;

  float value() const { return weight->w.item<float>(); }
};

// `->` reaches what neither windows nor the loss scale are about.
template <typename Optim>
concept steps_by_arrow = requires(Optim optimizer) {
  optimizer->step();
}
|| requires(Optim optimizer) { optimizer->zero_grad(); };

TEST(ArrowTest, ReachesAllButTheStep) {
  static_assert(!steps_by_arrow<Optimizer<torch::optim::Adam>>);
  static_assert(!steps_by_arrow<LrScheduler<torch::optim::StepLR>>);
  Accelerator accelerator;
  const Training training(accelerator);
  const auto& sgd = training.optimizer;
  EXPECT_EQ(sgd->param_groups()[0].options().get_lr(), 1);
  sgd->param_groups()[0].options().set_lr(0.5);
  sgd->add_param_group(std::vector{torch::zeros({2}, torch::requires_grad())});
  EXPECT_EQ(sgd->param_groups().size(), 2u);
  EXPECT_EQ(sgd->size(), 2u);
  EXPECT_TRUE(sgd->state().empty());
  EXPECT_EQ(static_cast<const torch::optim::SGDOptions&>(sgd->defaults()).momentum(), 0);
  EXPECT_EQ((*sgd).param_groups()[0].options().get_lr(), 0.5);
}

}  // namespace
}  // namespace accel
