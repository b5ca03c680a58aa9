// Several processes that make different numbers of steps, inside join_uneven_inputs().
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/embedding.h>

#include <chrono>
#include <stdexcept>
#include <vector>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "accel/scheduler.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/weight.h"

namespace accel::runtime {
namespace {

// Returns a loader of the numbers from 1, one per batch.
auto numbers(std::int64_t count) {
  return make_data_loader<torch::data::samplers::SequentialSampler>(
      torch::data::datasets::TensorDataset(torch::arange(1, count + 1, torch::kFloat))
          .map(torch::data::transforms::Stack<torch::data::TensorExample>()),
      1);
}

int length(auto& loader) {
  int batches = 0;
  for ([[maybe_unused]] auto& batch : loader) ++batches;
  return batches;
}

// As in PyTorch's test, there is one sample more than processes, so that rank 0 has two batches and
// the others have one.
TEST(JoinTest, ProcessesThatHaveEndedGoThroughTheOthersPasses) {
  for (int world_size : {2, 3}) {
    on_ranks(world_size, [&] {
      Accelerator accelerator;
      auto weight = std::make_shared<Weight>();
      auto [model, optimizer, loader] = accelerator.prepare(
          weight, torch::optim::SGD(weight->parameters(), 1.0), numbers(world_size + 1));
      accelerator.join_uneven_inputs(
          [&] {
            int batches = 0;
            for (auto& batch : loader) {
              accelerator.backward(model(batch.data));
              optimizer.step();
              optimizer.zero_grad();
              ++batches;
            }
            EXPECT_EQ(batches, accelerator.is_main_process() ? 2 : 1);
          },
          {.even_batches = false});
      const float n = static_cast<float>(world_size);
      EXPECT_FLOAT_EQ(weight->w.item<float>(), -((n + 1) / 2 + (n + 1) / n));
      EXPECT_EQ(length(loader), 2) << "even_batches is as before";
    });
  }
}

// A dispatching loader keeps its own even_batches. Rank 1 may get no sample of the last batch, and
// must not wait for it.
TEST(JoinTest, DispatchedLoadersAreAsBefore) {
  on_ranks(2, [] {
    for (const bool even : {true, false}) {
      Accelerator accelerator({.even_batches = even, .timeout = std::chrono::seconds(20)});
      auto weight = std::make_shared<Weight>();
      auto [model, loader] = accelerator.prepare(weight, make_data_loader(NumberStream(5), 2));
      using Rows = std::vector<std::int64_t>;
      Rows rows;
      accelerator.join_uneven_inputs(
          [&] {
            for (const torch::Tensor& batch : loader) {
              accelerator.backward(model(batch.to(torch::kFloat)).sum());
              rows.push_back(batch.size(0));
            }
          },
          {.even_batches = !even});
      const bool short_of_one = !even && !accelerator.is_main_process();
      EXPECT_EQ(rows, (short_of_one ? Rows{2} : Rows{2, 1}));
    }
  });
}

// A weight, and a buffer that sums its inputs.
struct Counting : Weight {
  torch::Tensor seen = register_buffer("seen", torch::zeros({1}));
  torch::Tensor forward(const torch::Tensor& x) {
    seen.add_(x);
    return Weight::forward(x);
  }
};

// Rank 0 ends first, so it must get the others' buffers and their state of optimizer and scheduler.
TEST(JoinTest, AllRanksContinueFromTheStateOfTheLast) {
  on_ranks(3, [] {
    Accelerator accelerator({.mixed_precision = MixedPrecision::kFp16,
                             .scheduler_unit = SchedulerUnit::kOptimizerSteps});
    auto weight = std::make_shared<Counting>();
    auto adam = std::make_shared<torch::optim::Adam>(weight->parameters(), 0.5);
    auto [model, optimizer, scheduler] =
        accelerator.prepare(weight, adam, Scheduler(adam, step_schedule(1, 0.5)));
    auto sgd = accelerator.prepare(torch::optim::SGD(weight->parameters(), 1.0));
    auto step_lr = accelerator.prepare(torch::optim::StepLR(*sgd, 1, 0.5));
    const auto step = [&] {
      accelerator.backward(model(input(1)));
      optimizer.step();
      scheduler.step();
      step_lr.step();
      optimizer.zero_grad();
    };
    accelerator.join_uneven_inputs([&] {
      for (int batch = 0; batch <= accelerator.process_index(); ++batch) step();
    });
    EXPECT_EQ(scheduler.last_epoch(), 3);
    step();
    EXPECT_EQ(weight->seen.item<float>(), 4);
    EXPECT_FLOAT_EQ(static_cast<float>(scheduler.get_last_lr()[0]), 0.5f / 16);
    EXPECT_EQ(sgd->param_groups()[0].options().get_lr(), 1.0 / 8);
    const torch::Tensor all = accelerator.gather(weight->w.detach());
    EXPECT_TRUE(torch::equal(all, all[0].expand(3))) << all;
    EXPECT_NE(all[0].item<float>(), 0);
  });
}

// Rank 1 makes the last pass, so rank 0 would take over its schedulers.
TEST(JoinTest, RanksWithDifferentNumbersOfSchedulersAreRefused) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto weight = std::make_shared<Weight>();
    auto sgd = std::make_shared<torch::optim::SGD>(weight->parameters(), 1.0);
    auto [model, optimizer] = accelerator.prepare(weight, sgd);
    std::vector<decltype(accelerator.prepare(Scheduler(sgd, step_schedule(1, 0.5))))> schedulers;
    for (int i = 0; i <= accelerator.process_index(); ++i) {
      schedulers.push_back(accelerator.prepare(Scheduler(sgd, step_schedule(1, 0.5))));
    }
    const auto join = [&] {
      accelerator.join_uneven_inputs([&] {
        for (int batch = 0; batch <= accelerator.process_index(); ++batch) {
          accelerator.backward(model(input(1)));
        }
      });
    };
    EXPECT_EQ(error_of<std::logic_error>(join),
              accelerator.is_main_process()
                  ? "join_uneven_inputs: a rank has 2 prepared schedulers where this one has 1: "
                    "prepare the same objects on every rank"
                  : "nothing was thrown");
    accelerator.wait_for_everyone();
  });
}

TEST(JoinTest, ShadowsUseTheModelsOptions) {
  for (const DataParallelOptions& options :
       {DataParallelOptions{.find_unused_parameters = true},
        DataParallelOptions{.gradient_as_bucket_view = false, .comm_hook = CommHook::kBf16}}) {
    on_ranks(2, [&] {
      Accelerator accelerator({.data_parallel = options});
      auto weight = std::make_shared<Weight>();
      auto model = accelerator.prepare(weight);
      accelerator.join_uneven_inputs([&] {
        for (int batch = 0; batch < 1 + 3 * accelerator.process_index(); ++batch) {
          weight->zero_grad();
          accelerator.backward(model(input(4)));
          EXPECT_FLOAT_EQ(weight->w.grad().item<float>(), batch == 0 ? 4 : 2);
        }
      });
      EXPECT_FLOAT_EQ(weight->w.grad().item<float>(), accelerator.is_main_process() ? 4 : 2);
    });
  }
}

TEST(JoinTest, SparseGradientsOfZeroAreSparse) {
  on_ranks(2, [] {
    for (const bool find_unused : {false, true}) {
      Accelerator accelerator({.data_parallel = {.find_unused_parameters = find_unused}});
      torch::nn::Embedding words(torch::nn::EmbeddingOptions(3, 2).sparse(true));
      torch::nn::EmbeddingBag bags(
          torch::nn::EmbeddingBagOptions(3, 2).sparse(true).mode(torch::kSum));
      torch::nn::Linear last(2, 1);
      struct Words : torch::nn::Module {};
      auto net = std::make_shared<Words>();
      net->register_module("words", words);
      net->register_module("bags", bags);
      net->register_module("last", last);
      auto model = accelerator.prepare(net);
      const torch::Tensor word = torch::tensor({{std::int64_t{1}}});
      accelerator.join_uneven_inputs([&] {
        for (int batch = 0; batch < 1 + 2 * accelerator.process_index(); ++batch) {
          net->zero_grad();
          accelerator.backward(words(word).sum() + bags(word).sum() + last(words(word)).sum());
        }
      });
      const torch::Tensor all = accelerator.gather(last->bias.grad());
      // Only rank 1 made the last passes. They leave rank 0's gradients unchanged.
      EXPECT_TRUE(torch::equal(all, torch::tensor({1.0f, 0.5f})));
      const float bag = bags->weight.grad().to_dense()[1][0].item<float>();
      EXPECT_EQ(bag, accelerator.is_main_process() ? 1 : 0.5f);
      EXPECT_EQ(bags->weight.grad().to_dense()[0][0].item<float>(), 0);
    }
  });
}

TEST(JoinTest, RefusesWhatWouldHang) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto one = std::make_shared<Weight>(), two = std::make_shared<Weight>();
    auto [first, second] = accelerator.prepare(one, two);
    EXPECT_THROW(accelerator.join_uneven_inputs([&] { accelerator.gather(input(1)); }),
                 std::logic_error);
    EXPECT_THROW(accelerator.join_uneven_inputs(
                     [&] { accelerator.backward(first(input(1)) + second(input(1))); }),
                 std::logic_error);
    EXPECT_THROW(accelerator.join_uneven_inputs([&] {
      auto& mine = accelerator.is_main_process() ? first : second;
      accelerator.backward(mine(input(1)));
    }),
                 std::logic_error);
    Accelerator fixed({.data_parallel = {.static_graph = true}});
    EXPECT_THROW(fixed.join_uneven_inputs([] {}), std::invalid_argument);
    accelerator.wait_for_everyone();
  });
}

}  // namespace
}  // namespace accel::runtime
