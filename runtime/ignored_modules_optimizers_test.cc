// Parameters of ignored modules may have an optimizer of a class that only the program knows, also
// in checkpoints.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "accel/accelerator.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/saved_run.h"
#include "runtime/testing/text_net.h"
#include "runtime/testing/text_sharding.h"

namespace accel::runtime {
namespace {

using Tensors = std::vector<torch::Tensor>;

// An optimizer of a program, whose state is unknown to everyone else.
class OwnOptimizer : public torch::optim::Optimizer {
 public:
  OwnOptimizer(Tensors parameters, double lr)
      : Optimizer(std::move(parameters), std::make_unique<torch::optim::SGDOptions>(lr)) {}

  torch::Tensor step(LossClosure = nullptr) override {
    const torch::NoGradGuard no_graph;
    for (torch::Tensor& parameter : param_groups_[0].params()) {
      if (!parameter.grad().defined()) continue;
      torch::Tensor& speed = speed_of(parameter);
      speed = 0.9 * speed + parameter.grad().sign();
      parameter.sub_(speed * 0.01);
    }
    return {};
  }
  void save(torch::serialize::OutputArchive& archive) const override {
    for (std::size_t i = 0; i < param_groups_[0].params().size(); ++i) {
      const auto state = state_.find(param_groups_[0].params()[i].unsafeGetTensorImpl());
      if (state == state_.end()) continue;
      archive.write(std::to_string(i), static_cast<const Speed&>(*state->second).value);
    }
  }
  void load(torch::serialize::InputArchive& archive) override {
    for (std::size_t i = 0; i < param_groups_[0].params().size(); ++i) {
      archive.try_read(std::to_string(i), speed_of(param_groups_[0].params()[i]));
    }
  }

 private:
  struct Speed : torch::optim::OptimizerCloneableParamState<Speed> {
    torch::Tensor value;
  };
  torch::Tensor& speed_of(const torch::Tensor& parameter) {
    auto& state = state_[parameter.unsafeGetTensorImpl()];
    if (state == nullptr) {
      auto made = std::make_unique<Speed>();
      made->value = torch::zeros_like(parameter);
      state = std::move(made);
    }
    return static_cast<Speed&>(*state).value;
  }
};

// Has the state of its base, which the program may have added to.
class DerivedAdam : public torch::optim::Adam {
 public:
  DerivedAdam(Tensors parameters, double lr) : Adam(std::move(parameters), lr) {}
};

// Trains the head with an `Own`, and the rest with AdamW, in the batches [begin, end). Resumes
// before, unless `begin` is 0, and saves otherwise. Returns the parameters.
template <typename Own>
torch::Tensor trained_with(const Sharding& sharding, const fs::path& folder, int begin, int end) {
  Accelerator accelerator(
      {.cpu = true,
       .sharding = sharding,
       .project = {.project_dir = folder, .automatic_checkpoint_naming = true}});
  torch::manual_seed(7);
  Text net;
  auto model = accelerator.prepare(net);
  Tensors others;
  for (const auto& item : net->named_parameters()) {
    if (!item.key().starts_with("head")) others.push_back(item.value());
  }
  auto adam = accelerator.prepare(torch::optim::AdamW(others, 0.01));
  auto own = accelerator.prepare(Own(net->head->parameters(), 0.01));
  if (begin > 0) {
    EXPECT_TRUE(accelerator.resume_from_newest());
  }
  for (int batch = begin; batch < end; ++batch) {
    accelerator.backward(model->loss(words_of(batch, 0)));
    adam.step();
    own.step();
    adam.zero_grad();
    own.zero_grad();
  }
  if (begin == 0 && !folder.empty()) accelerator.save_state();
  accelerator.end_training();
  Tensors flat;
  for (const torch::Tensor& parameter : net->parameters()) {
    flat.push_back(parameter.detach().clone().flatten());
  }
  return torch::cat(flat);
}

template <typename Own>
void expect_own_optimizer_continues(const fs::path& folder) {
  on_ranks(2, [&] { trained_with<Own>(ignoring("head"), folder, 0, 3); });
  on_ranks(3, [&] {
    const torch::Tensor expected = trained_with<Own>({}, "", 0, 6);
    for (const Sharding& sharding : {ignoring("head"), ignoring("head|embed"), Sharding()}) {
      const torch::Tensor continued = trained_with<Own>(sharding, folder, 3, 6);
      EXPECT_LE((continued - expected).abs().max().item<double>(), 1e-5);
    }
  });
}

// Its archive has its whole state, in checkpoints of parts too.
TEST(IgnoredModulesOptimizersTest, OptimizersOfTheProgramsOwnClassesMayHaveThem) {
  const fs::path folder = testing::TempDir();
  expect_own_optimizer_continues<OwnOptimizer>(folder / "own_optimizer");
  expect_own_optimizer_continues<DerivedAdam>(folder / "derived_adam");
}

}  // namespace
}  // namespace accel::runtime
