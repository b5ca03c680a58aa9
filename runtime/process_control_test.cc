// The order in which several real processes act, and the errors if one of them does not.
#include "runtime/process/process_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"
#include "runtime/testing/training.h"

namespace accel::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The timeout of ranks that wait for one that does not come. The others must come within it, and
// each of them may stand still for some seconds.
constexpr std::chrono::seconds kUntilLate(6);

std::string path(const std::string& name) { return testing::TempDir() + "/" + name; }

void touch(const std::string& file) { std::ofstream{file}; }

void await(const std::string& file) {
  while (!std::filesystem::exists(file)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(ProcessControlTest, TheMainProcessGoesFirst) {
  const std::string file = path("first");
  on_ranks(3, [&] {
    Accelerator accelerator;
    const bool found = accelerator.main_process_first([&] {
      const bool exists = std::filesystem::exists(file);
      touch(file);
      return exists;
    });
    EXPECT_EQ(found, !accelerator.is_main_process());
    int calls = 0;
    accelerator.local_main_process_first([&] { ++calls; });
    EXPECT_EQ(calls, 1);
  });
}

TEST(ProcessControlTest, AFailureOfTheFirstProcessIsAnErrorOnAll) {
  on_ranks(3, [] {
    Accelerator accelerator;
    bool begun = false;
    const std::string error = error_of<std::runtime_error>([&] {
      accelerator.main_process_first([&] {
        begun = true;
        throw std::runtime_error("no such data set");
      });
    });
    EXPECT_EQ(begun, accelerator.is_main_process());
    EXPECT_EQ(error, accelerator.is_main_process()
                         ? "no such data set"
                         : "main_process_first: it failed on rank 0: no such data set");
    accelerator.wait_for_everyone();  // A program that catches the error can continue.
  });
}

TEST(ProcessControlTest, OneProcessOnly) {
  on_ranks(3, [] {
    Accelerator accelerator;
    const int rank = accelerator.process_index();
    EXPECT_EQ(accelerator.on_main_process([&] { return rank; }).has_value(), rank == 0);
    EXPECT_EQ(accelerator.on_last_process([&] { return rank; }).value_or(-1), rank == 2 ? 2 : -1);
    EXPECT_EQ(accelerator.on_process(1, [&] { return rank; }).has_value(), rank == 1);
    EXPECT_EQ(accelerator.on_local_process(2, [&] { return rank; }).has_value(), rank == 2);
    int calls = 0;
    accelerator.on_local_main_process([&] { ++calls; });
    EXPECT_EQ(calls, rank == 0 ? 1 : 0);
  });
}

TEST(ProcessControlTest, ARankThatFailsAloneAndLeavesIsNamedByTheOthers) {
  on_ranks(2, [] {
    Accelerator accelerator({.timeout = std::chrono::seconds(20)});
    if (accelerator.is_main_process()) {
      EXPECT_THROW(accelerator.on_main_process([] { throw std::runtime_error("disk full"); }),
                   std::runtime_error);
      return;
    }
    EXPECT_THAT(error_of<CommunicationError>([&] { accelerator.wait_for_everyone(); }),
                HasSubstr("rank 0 called on_main_process, which threw 'disk full', instead"));
  });
}

TEST(ProcessControlTest, ACallThatOneRankDoesNotReachNamesIt) {
  const std::string done = path("done");
  on_ranks(3, [&] {
    Accelerator accelerator({.timeout = kUntilLate});
    const int rank = accelerator.process_index();
    if (rank == 2) return await(done);
    const torch::Tensor number = torch::zeros({1});
    EXPECT_THAT(
        error_of<CommunicationError>([&] { accelerator.gather(number); }),
        AllOf(HasSubstr("rank " + std::to_string(rank) + " of 3: gather (all_gather) failed"),
              HasSubstr("(rank 2 has not called it)")));
    touch(done + std::to_string(rank));
    if (rank == 0) {
      await(done + "1");
      touch(done);
    }
  });
}

TEST(ProcessControlTest, AWorldThatOneRankDoesNotJoinNamesIt) {
  on_ranks(3, [] {
    if (std::getenv("RANK") == std::string("2")) return;
    EXPECT_THAT(
        error_of<CommunicationError>([] { Accelerator accelerator({.timeout = kUntilLate}); }),
        AllOf(HasSubstr("joining the world"), HasSubstr("(rank 2 has not begun to join)")));
  });
}

TEST(ProcessControlTest, ACallThatOneRankReplacesByAnotherNamesBoth) {
  on_ranks(2, [] {
    Accelerator accelerator({.timeout = kUntilLate});
    const torch::Tensor number = torch::zeros({1});
    const std::string error = error_of<CommunicationError>([&] {
      // Neither rank makes the call that the other one waits for.
      accelerator.is_main_process() ? (void)accelerator.broadcast_object("x", 1)
                                    : (void)accelerator.gather(number);
    });
    EXPECT_THAT(error, accelerator.is_main_process()
                           ? AllOf(HasSubstr("broadcast_object (broadcast) failed"),
                                   HasSubstr("rank 1 called gather (all_gather) instead"))
                           : AllOf(HasSubstr("gather (all_gather) failed"),
                                   HasSubstr("rank 0 called broadcast_object (broadcast)")));
  });
}

TEST(ProcessControlTest, AnErrorOfRanksThatDoNotFitAdvisesWhatHelps) {
  on_ranks(2, [&] {
    Accelerator accelerator({.timeout = std::chrono::seconds(20)});
    auto model = accelerator.prepare(torch::nn::Linear(2, 1));
    // The first pass compares models. Later ones only reduce.
    accelerator.backward(model(torch::ones({1, 2})).sum());
    const std::string error = error_of<CommunicationError>([&] {
      if (accelerator.is_main_process()) return void(accelerator.gather(torch::zeros({3})));
      accelerator.backward(model(torch::ones({1, 2})).sum());
    });
    EXPECT_THAT(error, HasSubstr("the ranks' calls do not match"));
    EXPECT_THAT(error, HasSubstr(accelerator.is_main_process() ? "AcceleratorOptions::debug"
                                                               : "is a parameter frozen"));
  });
}

// With `debug` both ranks begin with an all-gather of eight bytes. Rank 0 sends the length of
// the text that describes its gather(), and rank 1 a digest of its parameters. The ranks must
// not confuse them.
TEST(ProcessControlTest, ADigestThatIsReadAsALengthIsAnErrorThatSaysWhatToDo) {
  on_ranks(2, [&] {
    Accelerator accelerator({.debug = true, .timeout = std::chrono::seconds(20)});
    auto model = accelerator.prepare(torch::nn::Linear(2, 1));
    accelerator.backward(model(torch::ones({1, 2})).sum());
    const std::string error = error_of<CommunicationError>([&] {
      if (accelerator.is_main_process()) return void(accelerator.gather(torch::zeros({3})));
      accelerator.backward(model(torch::ones({1, 2})).sum());
    });
    EXPECT_THAT(error, Not(HasSubstr("AcceleratorOptions::debug")));  // It is already on.
    if (accelerator.is_main_process()) {
      EXPECT_THAT(error, AllOf(HasSubstr("rank 0 of 2: gather (all_gather) failed because the "
                                         "ranks' calls do not match: rank 1 sent no length"),
                               HasSubstr("same accel methods in the same order")));
    } else {
      EXPECT_THAT(error, AllOf(HasSubstr("the comparison of parameters (broadcast) failed"),
                               HasSubstr("rank 0 called gather (all_gather), which failed because "
                                         "the ranks' calls do not match, instead")));
    }
  });
}

TEST(ProcessControlTest, ABackwardPassNamesTheRankThatStaysAway) {
  const std::string done = path("backward");
  on_ranks(2, [&] {
    Accelerator accelerator({.timeout = kUntilLate});
    auto model = accelerator.prepare(torch::nn::Linear(2, 1));
    // The first pass compares models. Later ones only reduce.
    accelerator.backward(model(torch::ones({1, 2})).sum());
    if (!accelerator.is_main_process()) return await(done);
    const torch::Tensor loss = model(torch::ones({1, 2})).sum();
    EXPECT_THAT(
        error_of<CommunicationError>([&] { accelerator.backward(loss); }),
        AllOf(HasSubstr("rank 0 of 2: backward failed"), HasSubstr("rank 1 has not called it")));
    touch(done);
  });
}

TEST(ProcessControlTest, AnErrorOfTheModelIsNotACommunicationError) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto model = accelerator.prepare(torch::nn::Linear(2, 1));
    const torch::Tensor loss = model(torch::ones({1, 2})).sum();
    accelerator.backward(loss);
    EXPECT_THAT(error_of<std::exception>([&] { accelerator.backward(loss); }),
                Not(HasSubstr("a peer is gone")));
  });
}

TEST(ProcessControlTest, SeedsAndGenerators) {
  on_ranks(2, [] {
    Accelerator accelerator;
    const auto draws_agree = [&] {
      const torch::Tensor all = accelerator.gather(torch::rand({1}));
      return all[0].item<float>() == all[1].item<float>();
    };
    accelerator.set_seed(7);
    EXPECT_TRUE(draws_agree());
    accelerator.set_seed(7, /*device_specific=*/true);
    EXPECT_FALSE(draws_agree());
    accelerator.synchronize_rng_states();
    EXPECT_TRUE(draws_agree());
  });
}

TEST(ProcessControlTest, ADispatchedLoopThatOneRankLeavesNamesIt) {
  const std::string done = path("dispatched");
  on_ranks(2, [&] {
    Accelerator accelerator({.dispatch_batches = true, .timeout = kUntilLate});
    auto loader = accelerator.prepare(
        make_data_loader<torch::data::samplers::SequentialSampler>(Numbers(40), 2));
    int batches = 0;
    const auto go_through = [&](int leave_after) {
      for (const torch::Tensor& batch : loader) {
        EXPECT_EQ(batch.size(0), 2);
        if (++batches == leave_after) break;
      }
    };
    if (accelerator.is_main_process()) {
      go_through(3);
      return await(done);
    }
    EXPECT_THAT(error_of<CommunicationError>([&] { go_through(10); }),
                AllOf(HasSubstr("rank 1 of 2: the next batch of a dispatched loader (broadcast) "
                                "failed"),
                      HasSubstr("rank 0 has not called it")));
    EXPECT_EQ(batches, 4) << "what rank 0 had read ahead";
    touch(done);
  });
}

// Ranks draw the same numbers after a loop has begun, and different ones before.
TEST(ProcessControlTest, LoopsSynchronizeTheGeneratorsOfRngTypes) {
  on_ranks(2, [] {
    for (const bool synchronized : {false, true}) {
      Accelerator accelerator({.rng_types = {.torch = synchronized, .cuda = true}});
      auto loader = accelerator.prepare(
          make_data_loader<torch::data::samplers::RandomSampler>(Numbers(8), 2));
      accelerator.set_seed(7, /*device_specific=*/true);
      const auto draws_agree = [&] {
        const torch::Tensor all = accelerator.gather(torch::rand({1}));
        return all[0].item<float>() == all[1].item<float>();
      };
      EXPECT_FALSE(draws_agree());
      for (int epoch = 0; epoch < 2; ++epoch) {
        if (!accelerator.is_main_process()) torch::rand({epoch + 1});
        int batches = 0;
        for (const torch::Tensor& batch : loader) {
          EXPECT_EQ(draws_agree(), synchronized) << batch;
          ++batches;
        }
        EXPECT_EQ(batches, 2);
      }
      if (!synchronized) continue;
      EXPECT_THAT(error_of<std::logic_error>(
                      [&] { accelerator.join_uneven_inputs([&] { loader.begin(); }); }),
                  HasSubstr("with rng_types"));
    }
  });
}

}  // namespace
}  // namespace accel::runtime
