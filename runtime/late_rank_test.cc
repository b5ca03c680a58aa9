// Ranks that are late for a reduction of gradients, or never take part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

#include "accel/accelerator.h"
#include "runtime/process/read_environment.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Two layers, each with a separate bucket, and a function that is called when a gradient
// passes between them.
struct TwoBuckets : torch::nn::Module {
  torch::nn::Linear first = layer("first"), second = layer("second");
  std::function<void()> before_second = [] {}, before_first = [] {};

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor hidden = first(x);
    hidden.register_hook([this](const torch::Tensor&) { before_first(); });
    const torch::Tensor out = second(hidden);
    out.register_hook([this](const torch::Tensor&) { before_second(); });
    return out;
  }

 private:
  torch::nn::Linear layer(const std::string& name) {
    const auto options = torch::nn::LinearOptions(600, 600).bias(false);
    return register_module(name, torch::nn::Linear(options));
  }
};

// Rank 1 computes its first gradient only after rank 0 has passed that point.
TEST(LateRankTest, ABackwardPassContinuesWhileARankIsLate) {
  on_ranks(2, [] {
    const std::string sign = testing::TempDir() + "/beyond_" + std::getenv("MASTER_PORT");
    Accelerator accelerator({.timeout = std::chrono::seconds(20)});
    auto net = std::make_shared<TwoBuckets>();
    auto model = accelerator.prepare(net);
    if (accelerator.is_main_process()) {
      net->before_first = [&] { std::ofstream(sign) << "here"; };
    } else {
      net->before_second = [&] {
        while (access(sign.c_str(), F_OK) != 0) usleep(1000);
      };
    }
    const float x = accelerator.is_main_process() ? 1 : 3;
    accelerator.backward(model(torch::full({1, 600}, x)).sum());
    const torch::Tensor expected =
        torch::mm(net->second->weight.sum(0, /*keepdim=*/true).t(), torch::full({1, 600}, 2.0));
    EXPECT_TRUE(torch::allclose(net->first->weight.grad(), expected, 1e-4, 1e-5));
    accelerator.wait_for_everyone();
    unlink(sign.c_str());
  });
}

// The waiting rank has handed the call to another thread. Its error must still name
// the missing rank.
TEST(LateRankTest, ALateRankThatDiesIsNamed) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto net = std::make_shared<TwoBuckets>();
    auto model = accelerator.prepare(net);
    if (!accelerator.is_main_process()) net->before_first = [] { _exit(0); };
    const auto pass = [&] { accelerator.backward(model(torch::ones({1, 600})).sum()); };
    EXPECT_THAT(error_of<CommunicationError>(pass),
                AllOf(HasSubstr("rank 0 of 2: backward failed"), HasSubstr("rank 1 ")));
  });
}

// A bucket is in flight, but the exception must still end the world.
TEST(LateRankTest, AnExceptionInThePassDoesNotWaitForTheOtherRanks) {
  on_ranks(2, [] {
    const auto pass = [] {
      Accelerator accelerator;
      auto net = std::make_shared<TwoBuckets>();
      auto model = accelerator.prepare(net);
      // The first pass compares models and the second one orders buckets. Later ones only reduce.
      for (int i = 0; i < 2; ++i) accelerator.backward(model(torch::ones({1, 600})).sum());
      if (!accelerator.is_main_process()) {
        return error_of<CommunicationError>([&] { accelerator.wait_for_everyone(); });
      }
      net->before_first = [] { throw std::runtime_error("no more memory"); };
      return error_of([&] { accelerator.backward(model(torch::ones({1, 600})).sum()); });
    };
    const bool fails = read_environment().rank == 0;
    EXPECT_THAT(pass(), HasSubstr(fails ? "no more memory" : "rank 0 "));
  });
}

}  // namespace
}  // namespace accel::runtime
