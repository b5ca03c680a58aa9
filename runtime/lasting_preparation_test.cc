// How long a module remains prepared, depending on what the program keeps of the
// result of prepare().
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "accel/accelerator.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

using torch::nn::Linear;

// Returns the gradient of the weight of a Linear(1, 1) after a pass with another input on each
// rank: 2 if it was reduced, otherwise 1 on rank 0 and 3 on rank 1.
template <typename Net>
float reduced_gradient(Accelerator& accelerator, Net& net) {
  net->zero_grad();
  const float x = accelerator.is_main_process() ? 1 : 3;
  accelerator.backward(net->forward(torch::full({1, 1}, x)).sum());
  return net->parameters()[0].grad().template item<float>();
}

TEST(LastingPreparationTest, AResultThatIsDroppedChangesNothing) {
  on_ranks(2, [] {
    Accelerator accelerator;
    Linear net(1, 1);
    accelerator.prepare(net);
    EXPECT_EQ(reduced_gradient(accelerator, net), 2);
  });
}

TEST(LastingPreparationTest, KeepingTheOptimizerAloneIsEnough) {
  on_ranks(2, [] {
    Accelerator accelerator;
    Linear net(1, 1);
    auto optimizer =
        std::get<1>(accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.1)));
    EXPECT_EQ(reduced_gradient(accelerator, net), 2);
    optimizer.step();
    const torch::Tensor all = accelerator.gather(net->weight.detach());
    EXPECT_TRUE(torch::equal(all[0], all[1]));
  });
}

TEST(LastingPreparationTest, TheNextAcceleratorReducesWhatADeadOnePrepared) {
  on_ranks(2, [] {
    Linear net(1, 1);
    const auto prepare = [&] {
      Accelerator preparing;
      return preparing.prepare(net, torch::optim::SGD(net->parameters(), 0.1));
    };
    auto both = prepare();
    {
      Accelerator next;
      EXPECT_EQ(reduced_gradient(next, net), 2);
    }
    // Either of the two is enough.
    std::optional optimizer(std::move(std::get<1>(both)));
    { const auto dropped = std::move(std::get<0>(both)); }
    Accelerator last;
    EXPECT_EQ(reduced_gradient(last, net), 2);
  });
}

TEST(LastingPreparationTest, AnyOtherAcceleratorReducesTheModel) {
  on_ranks(2, [] {
    Accelerator accelerator;
    Linear net(1, 1);
    [&] { Accelerator().prepare(net); }();
    EXPECT_EQ(reduced_gradient(accelerator, net), 2);
  });
}

// As in k-fold cross-validation, where every fold starts from scratch.
TEST(LastingPreparationTest, ANetThatIsPreparedAgainStartsFromRankZeros) {
  on_ranks(2, [] {
    Accelerator accelerator;
    Linear net(1, 1);
    std::optional<Model<Linear>> kept;
    for (int fold = 0; fold < 4; ++fold) {
      {
        torch::NoGradGuard no_grad;
        net->weight.fill_(10 * fold + accelerator.process_index());
      }
      if (fold == 2) kept.reset();
      auto model = accelerator.prepare(net);
      EXPECT_EQ(net->weight.item<float>(), 10 * fold);
      EXPECT_EQ(reduced_gradient(accelerator, model), 2);
      if (fold == 1) kept = model;
      if (fold != 2) accelerator.free_memory();
    }
  });
}

TEST(LastingPreparationTest, FreeMemoryEndsItForModelsThatAreNotKept) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto net = std::make_shared<torch::nn::LinearImpl>(1, 1);
    auto kept = accelerator.prepare(net);
    accelerator.free_memory();
    EXPECT_EQ(reduced_gradient(accelerator, kept), 2) << "a model that is kept stays prepared";
    const std::weak_ptr<torch::nn::LinearImpl> watched = net;
    {
      const auto dropped = std::move(kept);
      net.reset();
    }
    EXPECT_TRUE(watched.expired());
  });
}

TEST(LastingPreparationTest, AModelThatIsNotHeldEndsWithItsAccelerator) {
  on_ranks(2, [] {
    Accelerator accelerator;
    std::weak_ptr<torch::nn::LinearImpl> watched;
    {
      auto net = std::make_shared<torch::nn::LinearImpl>(1, 1);
      watched = net;
      Accelerator().prepare(net);
      EXPECT_EQ(reduced_gradient(accelerator, net), 2);
    }
    accelerator.prepare(Linear(1, 1));
    EXPECT_TRUE(watched.expired());
  });
}

}  // namespace
}  // namespace accel::runtime
