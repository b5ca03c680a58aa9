// Ranks that have trained apart are detected. Models whose ranks may train apart are not compared.
#include "runtime/parallel/parameter_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "accel/local_sgd.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::uint64_t digest_here(const torch::Tensor& tensor) {
  const torch::Tensor dense = tensor.detach().contiguous();
  return digest_of({static_cast<const std::byte*>(dense.const_data_ptr()), dense.nbytes()});
}

// Tested on the CPU, with the operations that a GPU runs.
TEST(DigestOnDeviceTest, IsThatOfTheBytes) {
  torch::manual_seed(1);
  std::vector<torch::Tensor> tensors{torch::randn({}), torch::randn({1}), torch::randn({3, 5}),
                                     torch::randn({4, 6}).t(), torch::empty({0}),
                                     torch::full({7}, std::numeric_limits<float>::quiet_NaN()),
                                     torch::randn({9}).slice(0, 1), torch::randn({3, 2, 4, 4}),
                                     // More than one piece.
                                     torch::randn({(32 << 20) / 4 + 5})};
  tensors.back().requires_grad_();
  for (const auto dtype : {torch::kHalf, torch::kBFloat16, torch::kDouble, torch::kChar,
                           torch::kLong, torch::kComplexFloat, torch::kBool}) {
    tensors.push_back(torch::randn({3, 11}).to(dtype));
  }
  for (const torch::Tensor& tensor : tensors) {
    EXPECT_EQ(static_cast<std::uint64_t>(digest_on_device(tensor).item<std::int64_t>()),
              digest_here(tensor))
        << tensor.dtype() << ' ' << tensor.sizes();
  }
}

AcceleratorOptions checking_each_pass() {
  return {
      .debug = true, .parameter_check = {.every_steps = 1}, .timeout = std::chrono::seconds(20)};
}

// A training of two layers, in which each rank has other inputs.
struct Training {
  explicit Training(const AcceleratorOptions& options = {})
      : accelerator(options),
        net(torch::nn::Linear(2, 2), torch::nn::Linear(2, 1)),
        prepared(accelerator.prepare(net, torch::optim::SGD(net->parameters(), 0.1))) {}

  void backward() {
    const float x = 1.0f + static_cast<float>(accelerator.process_index());
    accelerator.backward(std::get<0>(prepared)(torch::full({1, 2}, x)).sum());
  }
  void step() {
    backward();
    std::get<1>(prepared).step();
    std::get<1>(prepared).zero_grad();
  }
  // Changes a parameter on one rank, without any error.
  void change_on(int rank, std::size_t parameter = 2) {
    if (accelerator.process_index() == rank) {
      torch::NoGradGuard no_graph;
      net->parameters()[parameter].view({-1})[1] += 1e-6;
    }
  }
  std::string save() {
    return error_of<ParametersDiffer>([&] { accelerator.save_state(folder()); });
  }
  static std::string folder() { return testing::TempDir() + "/parameter_check"; }

  Accelerator accelerator;
  torch::nn::Sequential net;
  std::tuple<Model<torch::nn::Sequential>, Optimizer<torch::optim::SGD>> prepared;
};

constexpr char kFine[] = "nothing was thrown";

TEST(ParameterCheckTest, ASaveNamesTheFirstParameterThatDiffersAndTheRank) {
  std::filesystem::remove_all(Training::folder());
  const auto apart = [] {
    Training run;
    run.step();
    run.change_on(1);
    const std::string text = run.save();
    EXPECT_THAT(text, AllOf(HasSubstr("ranks 0, 2: 1.weight of torch::nn::SequentialImpl: Float "
                                      "[1, 2], with digest "),
                            HasSubstr("\n  - rank 1: 1.weight of "), HasSubstr("Look for")));
    EXPECT_FALSE(std::filesystem::exists(Training::folder()));
    // The world is intact, and the check works again.
    run.change_on(2, /*parameter=*/0);
    EXPECT_THAT(run.save(), HasSubstr("rank 2: 0.weight of "));
  };
  if (on_ranks(3, apart)) std::filesystem::remove_all(Training::folder());
}

TEST(ParameterCheckTest, ASaveOfRanksThatAgreeSucceeds) {
  const auto together = [] {
    Training run;
    run.step();
    {
      torch::NoGradGuard no_graph;
      run.net->parameters()[0][0][0] = std::numeric_limits<float>::quiet_NaN();
    }
    EXPECT_EQ(run.save(), kFine);
    run.accelerator.end_training();
  };
  if (on_ranks(2, together)) std::filesystem::remove_all(Training::folder());
}

TEST(ParameterCheckTest, TheCheckOfASaveCanBeTurnedOff) {
  const auto apart = [] {
    Training run({.parameter_check = {.at_save = false}});
    run.change_on(1);
    EXPECT_EQ(run.save(), kFine);
    run.accelerator.end_training();
  };
  if (on_ranks(2, apart)) std::filesystem::remove_all(Training::folder());
}

// Programs call save_state() inside a window too.
TEST(ParameterCheckTest, ASaveInsideAWindowIsCheckedToo) {
  on_ranks(2, [] {
    Training run({.gradient_accumulation = {.num_steps = 3}});
    const auto batch = run.accelerator.accumulate(std::get<0>(run.prepared));
    run.step();
    run.change_on(0);
    EXPECT_THAT(run.save(), HasSubstr("rank 1: 1.weight of "));
  });
}

TEST(ParameterCheckTest, WithDebugABackwardPassNoticesIt) {
  on_ranks(2, [] {
    Training run(checking_each_pass());
    for (int i = 0; i < 3; ++i) run.step();
    run.change_on(1);
    EXPECT_THAT(error_of<ParametersDiffer>([&] { run.backward(); }), HasSubstr("1.weight of "));
  });
}

TEST(ParameterCheckTest, AStepOfOneRankAloneIsNoticed) {
  on_ranks(2, [] {
    Training run(checking_each_pass());
    run.backward();
    if (run.accelerator.is_main_process()) std::get<1>(run.prepared).step();
    EXPECT_THAT(error_of<ParametersDiffer>([&] { run.backward(); }), HasSubstr("0.weight of "));
  });
}

// Compares before the second pass, and then before every hundredth. Does not compare without
// `debug`, or if every_steps is 0.
TEST(ParameterCheckTest, ChecksAtTheIntervalThatIsSet) {
  on_ranks(2, [] {
    const auto pass_that_notices = [](const AcceleratorOptions& options) {
      Training run(options);
      run.change_on(1);
      for (int pass = 1; pass <= 120; ++pass) {
        try {
          run.backward();
        } catch (const ParametersDiffer&) {
          return pass;
        }
        if (pass == 2) run.change_on(0);  // Equal again.
        if (pass == 3) run.change_on(1);
      }
      return 0;
    };
    EXPECT_EQ(pass_that_notices({.debug = true}), 2);
    EXPECT_EQ(pass_that_notices({.debug = true, .parameter_check = {.every_steps = 1}}), 1);
    EXPECT_EQ(pass_that_notices({.debug = true, .parameter_check = {.every_steps = 0}}), 0);
    EXPECT_EQ(pass_that_notices({}), 0);
    Training late({.debug = true});
    for (int pass = 1; pass <= 101; ++pass) {
      late.backward();
      if (pass == 2) late.change_on(1);
    }
    EXPECT_NE(error_of<ParametersDiffer>([&] { late.backward(); }), kFine);
    EXPECT_THROW(Accelerator({.parameter_check = {.every_steps = -1}}), std::invalid_argument);
  });
}

TEST(ParameterCheckTest, AParameterOfAnOptimizerAloneIsNamedByItsIndex) {
  on_ranks(2, [] {
    Accelerator accelerator;
    torch::nn::Linear net(2, 1);
    const torch::Tensor loose = torch::zeros({3}, torch::requires_grad());
    auto parameters = net->parameters();
    parameters.push_back(loose);
    auto [model, optimizer] = accelerator.prepare(net, torch::optim::SGD(parameters, 0.1));
    const float x = accelerator.is_main_process() ? 1 : 2;
    accelerator.backward(model(torch::ones({1, 2})).sum() + (loose * x).sum());
    optimizer.step();
    EXPECT_THAT(error_of<ParametersDiffer>([&] { accelerator.save_state(Training::folder()); }),
                HasSubstr("parameter 2 of prepared optimizer 0, which no prepared model has: "
                          "Float [3]"));
  });
}

// A parameter that is cast on one rank differs.
TEST(ParameterCheckTest, AnotherTypeIsADifference) {
  on_ranks(2, [] {
    Training run;
    if (run.accelerator.is_main_process()) run.net->to(torch::kDouble);
    EXPECT_THAT(run.save(),
                AllOf(HasSubstr("rank 0: 0.weight of torch::nn::SequentialImpl: Double"),
                      HasSubstr("rank 1: 0.weight of torch::nn::SequentialImpl: Float")));
  });
}

TEST(ParameterCheckTest, LocalStepsOnPurposeAreNotChecked) {
  const auto apart = [] {
    Training run(checking_each_pass());
    auto other = run.accelerator.prepare(torch::nn::Linear(2, 1));
    const auto check = [&] {
      EXPECT_EQ(run.save(), kFine);
      run.accelerator.backward(other(torch::ones({1, 2})).sum());
    };
    {
      LocalSgd local_sgd(run.accelerator, std::get<0>(run.prepared), 3);
      for (int i = 0; i < 4; ++i) {
        run.step();
        check();
        local_sgd.step();
      }
    }
    check();
    run.step();
    {
      const auto own = run.accelerator.no_sync(std::get<0>(run.prepared));
      run.step();
      {
        const auto batch = run.accelerator.accumulate(std::get<0>(run.prepared));
        check();
      }
      const auto means = run.accelerator.reduce(run.net->parameters(), torch::kMean);
      torch::NoGradGuard no_graph;
      for (std::size_t i = 0; i < means.size(); ++i) run.net->parameters()[i].copy_(means[i]);
    }
    check();
    run.accelerator.wait_for_save();
  };
  if (on_ranks(2, apart)) std::filesystem::remove_all(Training::folder());
}

TEST(ParameterCheckTest, ModelsThatAreNotTrainedAreNotChecked) {
  const auto apart = [] {
    Training run(checking_each_pass());
    torch::manual_seed(run.accelerator.process_index());
    const torch::nn::Linear own(2, 2);
    auto evaluated =
        run.accelerator.prepare_model(torch::nn::Linear(2, 2), {.evaluation_mode = true});
    run.step();
    EXPECT_EQ(run.save(), kFine);
    run.accelerator.end_training();
  };
  if (on_ranks(2, apart)) std::filesystem::remove_all(Training::folder());
}

TEST(ParameterCheckTest, RanksWithFewerBatchesAreNotWaitedFor) {
  on_ranks(2, [] {
    Training run(checking_each_pass());
    run.accelerator.join_uneven_inputs([&] {
      for (int i = 0; i < 2 + run.accelerator.process_index(); ++i) run.step();
    });
    run.step();
    run.change_on(1);
    EXPECT_NE(error_of<ParametersDiffer>([&] { run.step(); }), kFine);
  });
}

TEST(ParameterCheckTest, AfterFreeMemoryTheNextTrainingCounts) {
  on_ranks(2, [] {
    Training first(checking_each_pass());
    first.step();
    first.change_on(1);
    first.accelerator.free_memory();
    auto next = first.accelerator.prepare(torch::nn::Linear(2, 1));
    first.accelerator.backward(next(torch::ones({1, 2})).sum());
  });
}

}  // namespace
}  // namespace accel::runtime
