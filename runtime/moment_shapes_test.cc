// A checkpoint whose moments have other shapes than the program's parameters is refused before
// anything is changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "accel/accelerator.h"
#include "accel/errors.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Sharding = std::optional<ShardingOptions>;

const Sharding kFullState = ShardingOptions{.state_dict_type = StateDictType::kFull};

// Two layers whose weights have as many elements as one another, and other shapes.
struct TwoLayers {
  TwoLayers(const Sharding& sharding, bool is_reversed)
      : accelerator({.cpu = true, .sharding = sharding}) {
    torch::manual_seed(is_reversed ? 2 : 1);
    net = torch::nn::Sequential(torch::nn::Linear(torch::nn::LinearOptions(4, 6).bias(false)),
                                torch::nn::Linear(torch::nn::LinearOptions(6, 4).bias(false)));
    model = accelerator.prepare(net);
    std::vector<torch::Tensor> parameters = net->parameters();
    if (is_reversed) std::reverse(parameters.begin(), parameters.end());
    adam = accelerator.prepare(torch::optim::AdamW(parameters, is_reversed ? 0.5 : 0.01));
    accelerator.backward(model(torch::ones({2, 4})).square().sum());
    adam.step();
    adam.zero_grad();
  }

  torch::Tensor weights() const {
    return torch::cat({net->parameters()[0].detach().clone().flatten(),
                       net->parameters()[1].detach().clone().flatten()});
  }
  // Returns a moment of each parameter, as far as this rank has it.
  torch::Tensor moments() {
    std::vector<torch::Tensor> all;
    for (const torch::Tensor& parameter : net->parameters()) {
      auto& state = *adam->state().at(parameter.unsafeGetTensorImpl());
      all.push_back(static_cast<torch::optim::AdamWParamState&>(state).exp_avg().flatten());
    }
    return torch::cat(all);
  }

  Accelerator accelerator;
  torch::nn::Sequential net{nullptr};
  Model<torch::nn::Sequential> model;
  Optimizer<torch::optim::AdamW> adam;
};

TEST(MomentShapesTest, MomentsOfAnotherOrderOfParametersChangeNothing) {
  for (const Sharding& sharding : {Sharding(), kFullState}) {
    const fs::path folder =
        fs::path(testing::TempDir()) / (sharding ? "moment_shapes_sharded" : "moment_shapes");
    on_ranks(2, [&] {
      TwoLayers saved(sharding, false);
      saved.accelerator.save_state(folder);
      saved.accelerator.wait_for_save();
    });
    for (const Sharding& loading : {Sharding(), kFullState}) {
      on_ranks(2, [&] {
        TwoLayers loaded(loading, true);
        const torch::Tensor weights = loaded.weights(), moments = loaded.moments();
        EXPECT_THAT(error_of<CheckpointError>([&] { loaded.accelerator.load_state(folder); }),
                    AllOf(HasSubstr((folder / "optimizer.bin").string() + ": exp_avg of 1.weight"),
                          HasSubstr("has shape [6, 4] there and [4, 6] in this program")));
        EXPECT_TRUE(torch::equal(loaded.weights(), weights));
        EXPECT_TRUE(torch::equal(loaded.moments(), moments));
        EXPECT_EQ(loaded.adam->param_groups()[0].options().get_lr(), 0.5);
      });
    }
  }
}

}  // namespace
}  // namespace accel::runtime
