// Backward passes that fail, and those that come after them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include "accel/accelerator.h"
#include "accel/batch_size_search.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

// A net whose backward pass can run out of memory between the gradients of its two layers.
struct Net : torch::nn::Module {
  explicit Net(std::int64_t width = 2)
      : first(register_module("first", torch::nn::Linear(1, width))),
        second(register_module("second", torch::nn::Linear(width, 1))) {
    torch::NoGradGuard no_grad;
    for (auto& parameter : parameters()) parameter.fill_(1);
  }
  torch::Tensor forward(const torch::Tensor& x, bool fails = false) {
    torch::Tensor hidden = first(x);
    if (fails) {
      hidden.register_hook([](const torch::Tensor&) -> torch::Tensor {
        throw std::runtime_error("DefaultCPUAllocator: can't allocate memory");
      });
    }
    return second(hidden);
  }
  torch::nn::Linear first, second;
};

torch::Tensor input(const Accelerator& accelerator) {
  return torch::full({1, 1}, accelerator.is_main_process() ? 1.0 : 3.0);
}

TEST(FailingBackwardTest, TheNextPassIsNotAffected) {
  on_ranks(2, [] {
    for (const DataParallelOptions& options :
         {DataParallelOptions{}, DataParallelOptions{.find_unused_parameters = true},
          DataParallelOptions{.static_graph = true}, DataParallelOptions{.bucket_cap_mb = 1},
          DataParallelOptions{.gradient_as_bucket_view = false},
          DataParallelOptions{.comm_hook = CommHook::kBf16}}) {
      Accelerator accelerator({.data_parallel = options});
      // Layers of more than 1 MiB, so that one gradient is sent before the other exists.
      auto net = std::make_shared<Net>(300'000);
      auto [model, optimizer] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.1));
      for (const bool fails : {true, false, true, true, false, false, true, false}) {
        optimizer.zero_grad();
        const auto pass = [&] { accelerator.backward(model(input(accelerator), fails).sum()); };
        if (fails) {
          EXPECT_THROW(pass(), std::runtime_error);
          continue;
        }
        pass();
        EXPECT_EQ(net->first->weight.grad()[0].item<float>(), 2);
        EXPECT_EQ(net->second->weight.grad()[0][0].item<float>(), 3);
        EXPECT_EQ(net->second->bias.grad().item<float>(), 1);
      }
    }
  });
}

// The other ranks wait in their pass until the failed one is repeated.
TEST(FailingBackwardTest, ARankThatFailsAloneMayTryAgain) {
  on_ranks(2, [] {
    for (const DataParallelOptions& options :
         {DataParallelOptions{}, DataParallelOptions{.find_unused_parameters = true},
          DataParallelOptions{.static_graph = true}}) {
      Accelerator accelerator({.data_parallel = options});
      auto net = std::make_shared<Net>();
      auto [model, optimizer] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.1));
      for (int step = 0; step < 5; ++step) {
        const bool fails = step % 2 == accelerator.process_index();
        if (fails) {
          EXPECT_THROW(accelerator.backward(model(input(accelerator), true).sum()),
                       std::runtime_error);
        }
        optimizer.zero_grad();
        accelerator.backward(model(input(accelerator)).sum());
        EXPECT_EQ(net->first->weight.grad()[0].item<float>(), 2);
        EXPECT_EQ(net->second->bias.grad().item<float>(), 1);
      }
      // The numbers of calls still agree, so errors would compare the same call.
      EXPECT_EQ(accelerator.gather(torch::ones({1})).size(0), 2);
    }
  });
}

// The part that the rank has sent belongs to the failed pass, and must not become part
// of another one.
TEST(FailingBackwardTest, ARankThatFailsAloneHalfwayIsAnErrorOnAll) {
  on_ranks(2, [] {
    Accelerator accelerator(
        {.data_parallel = {.bucket_cap_mb = 1}, .timeout = std::chrono::seconds(20)});
    auto net = std::make_shared<Net>(300'000);
    auto model = accelerator.prepare(net);
    for (int pass = 0; pass < 3; ++pass) accelerator.backward(model(input(accelerator)).sum());
    if (accelerator.is_main_process()) {
      EXPECT_THROW(accelerator.backward(model(input(accelerator), true).sum()), std::runtime_error);
    }
    EXPECT_THAT([&] { accelerator.backward(model(input(accelerator)).sum()); },
                ThrowsMessage<CommunicationError>(HasSubstr("after one that failed")));
  });
}

TEST(FailingBackwardTest, ABatchSizeIsFoundForAModelThatIsPreparedAlready) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto net = std::make_shared<Net>();
    auto [model, optimizer] = accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.1));
    auto train = find_executable_batch_size(
        [&](std::int64_t batch_size) {
          for (int step = 0; step < 3; ++step) {
            optimizer.zero_grad();
            const torch::Tensor x = input(accelerator).expand({batch_size, 1});
            accelerator.backward(model(x, batch_size > 4).mean());
            EXPECT_EQ(net->first->weight.grad()[0].item<float>(), 2);
          }
          return batch_size;
        },
        {.starting_batch_size = 8});
    EXPECT_EQ(train(), 4);
  });
}

// The text is all that a user needs. LibTorch's stack frames do not help.
TEST(FailingBackwardTest, ErrorsComeWithoutABacktrace) {
  for (int world_size : {1, 2}) {
    on_ranks(world_size, [] {
      Accelerator accelerator;
      auto model = accelerator.prepare(std::make_shared<Net>());
      const torch::Tensor loss = model(input(accelerator)).square().sum();
      accelerator.backward(loss);
      EXPECT_THAT(
          [&] { accelerator.backward(loss); },
          ThrowsMessage<c10::Error>(AllOf(HasSubstr("a second time"), Not(HasSubstr("frame #")))));
    });
  }
}

TEST(FailingBackwardTest, AnUnusedParameterMayBeFrozenThen) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto net = std::make_shared<Net>();
    auto model = accelerator.prepare(net);
    const auto pass = [&] { accelerator.backward(net->second(torch::ones({1, 2})).sum()); };
    EXPECT_THAT(pass, ThrowsMessage<std::runtime_error>(HasSubstr("first.weight, first.bias")));
    for (auto& parameter : net->first->parameters()) parameter.requires_grad_(false);
    net->zero_grad();
    pass();
    EXPECT_EQ(net->second->bias.grad().item<float>(), 1);
  });
}

// Rank 0's buffers are copied after a pass, although the graph, which is used again,
// has saved them.
TEST(FailingBackwardTest, AGraphWithBatchNormMayBeUsedAgain) {
  on_ranks(2, [] {
    Accelerator accelerator;
    torch::nn::Sequential net(torch::nn::Linear(1, 2), torch::nn::BatchNorm1d(2),
                              torch::nn::Linear(2, 1));
    auto model = accelerator.prepare(net);
    torch::manual_seed(accelerator.process_index());
    const auto equal_gradients = [&] {
      for (const auto& item : net->named_parameters()) {
        const torch::Tensor all = accelerator.gather(item.value().grad().reshape({1, -1}));
        EXPECT_TRUE(torch::equal(all[0], all[1])) << item.key();
      }
    };
    const torch::Tensor out = model->forward(torch::randn({8, 1}));
    accelerator.backward(out.mean(), {.retain_graph = true});
    equal_gradients();
    accelerator.backward(out.square().mean());
    equal_gradients();
    const torch::Tensor one = model->forward(torch::randn({8, 1}));
    const torch::Tensor two = model->forward(torch::randn({8, 1}));
    accelerator.backward(one.mean());
    accelerator.backward(two.square().mean());
    equal_gradients();
  });
}

TEST(FailingBackwardTest, GraphsOfReducedGradientsAreRefused) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto net = std::make_shared<Net>();
    auto model = accelerator.prepare(net);
    const auto pass = [&] {
      accelerator.backward(model(input(accelerator)).square().sum(), {.create_graph = true});
    };
    EXPECT_THAT(pass, ThrowsMessage<std::invalid_argument>(HasSubstr("torch::autograd::grad")));
    {
      // Unreduced gradients have a graph.
      auto alone = accelerator.no_sync(model);
      pass();
      EXPECT_TRUE(net->second->bias.grad().requires_grad());
    }
    net->zero_grad();
    // As in a gradient penalty: (d/dx net)^2 = 4 for any x.
    const torch::Tensor x = input(accelerator).requires_grad_();
    const torch::Tensor slope =
        torch::autograd::grad({model(x).sum()}, {x}, {}, std::nullopt, /*create_graph=*/true)[0];
    accelerator.backward(slope.square().sum() * x.detach().sum() + 0 * model(x).sum());
    EXPECT_EQ(net->first->weight.grad()[0].item<float>(), 2 * 2 * 2);
  });
}

// With `debug` the ranks compare their parameters before every n-th pass, so they must count alike.
TEST(FailedBackwardTest, ARetriedPassIsOnePassToTheOtherRanks) {
  on_ranks(2, [] {
    for (const int every : {1, 2, 3}) {
      Accelerator accelerator({.debug = true,
                               .parameter_check = {.every_steps = every},
                               .timeout = std::chrono::seconds(20)});
      auto net = std::make_shared<Net>();
      auto [model, optimizer] =
          accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.01));
      const auto backward = [&](bool fails) {
        optimizer.zero_grad();
        accelerator.backward(model(input(accelerator), fails).mean());
      };
      for (int pass = 0; pass < 5; ++pass) {
        if (!accelerator.is_main_process()) {
          // Fails before the first bucket is sent.
          EXPECT_THROW(backward(true), std::runtime_error);
        }
        backward(false);
        optimizer.step();
      }
    }
  });
}

}  // namespace
}  // namespace accel::runtime
