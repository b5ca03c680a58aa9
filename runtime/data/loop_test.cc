// How loops over loaders begin and end, which of several loops decides, and what a loop leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <vector>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/testing/loops.h"
#include "runtime/testing/ranks.h"

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
using torch::data::samplers::SequentialSampler;

TEST(LoopTest, OneAtATime) {
  auto loader = make_data_loader<SequentialSampler>(MapNumbers(6), with_workers(1));
  for ([[maybe_unused]] auto& batch : loader) {
    EXPECT_THROW(loader.begin(), std::logic_error);
    break;
  }
  EXPECT_EQ(all_of(loader), range(0, 6));
}

// The loaders share one sampler and one dataset, so two loops would take samples from each other.
TEST(LoopTest, OneAtATimeOverAllThatArePreparedFromALoader) {
  auto plain = make_data_loader(StreamNumbers(6), with_workers(0));
  auto first = plain.sharded({.prepared = true, .seed = 1});
  auto second = skip_first_batches(plain.sharded({.prepared = true, .seed = 1}), 1);
  {
    auto kept = first.begin();
    EXPECT_THROW(second.begin(), std::logic_error);
    EXPECT_THROW(plain.begin(), std::logic_error);
  }
  EXPECT_EQ(all_of(second), range(2, 6)) << "the one that was broken off is gone";
  auto at_its_end = second.begin();
  while (at_its_end != second.end()) ++at_its_end;
  EXPECT_EQ(all_of(first), range(100, 106));
}

// Reads half an epoch. Knows nothing of datasets and samplers.
Values half_of(AnyLoader<torch::Tensor> loader) {
  Values all;
  for (const torch::Tensor& batch : loader) {
    for (std::int64_t value : values(batch)) all.push_back(value);
    if (all.size() >= loader.size()) break;  // Batches are of two.
  }
  return all;
}

TEST(AnyLoaderTest, IsTheLoaderThatItWasMadeFrom) {
  auto map = make_data_loader<SequentialSampler>(MapNumbers(8), with_workers(1))
                 .sharded({.prepared = true, .seed = 1});
  auto stream = make_data_loader(StreamNumbers(8), with_workers(0));
  std::vector<AnyLoader<torch::Tensor>> loaders{map, stream};
  EXPECT_TRUE(loaders[0].is_prepared());
  EXPECT_FALSE(loaders[1].is_prepared());
  for (AnyLoader<torch::Tensor>& loader : loaders) {
    EXPECT_EQ(loader.size(), 4u);
    EXPECT_EQ(half_of(loader), range(0, 4));
    EXPECT_EQ(loader.epoch(), 1u);
    auto kept = loader.begin();
    EXPECT_THROW(AnyLoader<torch::Tensor>(loader).begin(), std::logic_error);
  }
  EXPECT_EQ(map.epoch(), 2u) << "its epochs are those of the others";
  EXPECT_EQ(map.state_dict(), loaders[0].state_dict());
  map.load_state_dict({.epoch = 5, .seed = 1, .samples = 6});
  EXPECT_EQ(all_of(loaders[0]), range(6, 8));
  auto skipping = skip_first_batches(loaders[1], 3);
  EXPECT_EQ(skipping.size(), 1u);
  AnyLoader<torch::Tensor> empty;
  EXPECT_THROW(empty.begin(), std::logic_error);
}

TEST(AnyLoaderTest, CanBePrepared) {
  on_ranks(2, [] {
    Accelerator accelerator;
    AnyLoader<torch::Tensor> plain =
        make_data_loader<SequentialSampler>(MapNumbers(8), with_workers(0));
    AnyLoader<torch::Tensor> loader = accelerator.prepare(plain);
    EXPECT_TRUE(loader.is_prepared());
    EXPECT_EQ(loader.size(), 2u);
    const std::int64_t first = 2 * accelerator.process_index();
    EXPECT_EQ(all_of(loader), (Values{first, first + 1, first + 4, first + 5}));
    AnyLoader<torch::Tensor> divided =
        make_data_loader(MapNumbers(8), torch::data::samplers::DistributedRandomSampler(8), 2);
    EXPECT_THROW(accelerator.prepare(divided), std::invalid_argument);
  });
}

// gather_for_metrics() cuts rows by the step of the innermost loop that runs.
TEST(LoopTest, TheInnermostRunningOneCountsForMetrics) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto [train, eval] =
        accelerator.prepare(make_data_loader<SequentialSampler>(MapNumbers(5), with_workers(1)),
                            make_data_loader<SequentialSampler>(MapNumbers(7), with_workers(0)));
    const auto rows = [&] { return accelerator.gather_for_metrics(torch::zeros({2})).size(0); };
    std::vector<std::int64_t> in_train;
    for ([[maybe_unused]] auto& batch : train) {
      Values seen;
      for (const torch::Tensor& inner : eval) {
        for (std::int64_t value : values(accelerator.gather_for_metrics(inner))) {
          seen.push_back(value);
        }
      }
      EXPECT_EQ(seen, range(0, 7));
      in_train.push_back(rows());
    }
    EXPECT_THAT(in_train, ElementsAre(4, 1));
    for ([[maybe_unused]] auto& batch : train) {
      if (train.end_of_dataloader()) break;  // The step has one real sample.
    }
    EXPECT_EQ(rows(), 4);
    auto it = train.begin();
    while (it != train.end()) ++it;
    EXPECT_EQ(rows(), 4) << "although the iterator lives";
  });
}

// Padding is not repetition: if batches differ in size, no process may cut rows that another keeps.
TEST(LoopTest, PaddedBatchesOfSeveralSizesAreCutOnNoProcess) {
  on_ranks(2, [] {
    for (const bool even : {true, false}) {
      Accelerator accelerator({.even_batches = even, .dispatch_batches = false});
      auto bags = accelerator.prepare(make_data_loader(MapNumbers(9), Bags{9}, 1));
      auto stream = accelerator.prepare(make_data_loader(StreamNumbers(7), 2));
      const auto gathered = [&](const torch::Tensor& batch) {
        return values(accelerator.gather_for_metrics(
            accelerator.pad_across_processes(batch, {.pad_index = -1})));
      };
      auto bag = bags.begin();
      EXPECT_EQ(gathered(*bag), (Values{0, -1, 1, 2}));
      EXPECT_EQ(gathered(*++bag), (Values{3, 4, 5, 6, -1, -1}));
      auto piece = stream.begin();
      ++piece;
      EXPECT_EQ(gathered(*piece), even ? (Values{4, 5, 6}) : (Values{4, 5, 6, -1}));
    }
  });
}

// A program may take a batch of other data every few steps, from an iterator that it keeps.
TEST(LoopTest, AnIteratorThatIsKeptCountsForItsOwnStepsOnly) {
  on_ranks(2, [] {
    Accelerator accelerator;
    auto [train, eval] =
        accelerator.prepare(make_data_loader<SequentialSampler>(MapNumbers(11), with_workers(0)),
                            make_data_loader<SequentialSampler>(MapNumbers(5), with_workers(0)));
    const auto rows = [&] { return accelerator.gather_for_metrics(torch::zeros({2})).size(0); };
    std::optional<decltype(eval.begin())> kept;
    std::vector<std::int64_t> in_train, in_eval;
    for ([[maybe_unused]] auto& batch : train) {
      in_train.push_back(rows());
      if (in_train.size() == 3) break;
      if (kept) ++*kept;
      if (!kept) kept.emplace(eval.begin());
      in_eval.push_back(rows());
    }
    EXPECT_THAT(in_train, ElementsAre(4, 4, 3));
    EXPECT_THAT(in_eval, ElementsAre(4, 1));
    EXPECT_EQ(rows(), 1) << "it is the only one left";
  });
}

// A run that is asked to stop leaves the loop and saves; another run resumes.
TEST(LoopTest, WhatWasLeftOfAnEpochComesAfterAResume) {
  const auto make = [](std::size_t fails_at) {
    MapNumbers map(10);
    map.fails_at = fails_at;
    return make_data_loader<SequentialSampler>(map, 2).sharded({.prepared = true, .seed = 3});
  };
  auto loader = make(100), torn = make(5);
  for (const torch::Tensor& batch : loader) {
    if (values(batch)[0] == 2) break;
  }
  EXPECT_THROW(all_of(torn), std::out_of_range);
  EXPECT_EQ(torn.state_dict(), loader.state_dict());
  auto resumed = make(100);
  resumed.load_state_dict(loader.state_dict());
  std::vector<Values> epochs;
  for (const std::size_t epoch : resumed.epochs(2)) {
    resumed.set_epoch(epoch);
    epochs.push_back(all_of(resumed));
  }
  EXPECT_THAT(epochs, ElementsAre(range(4, 10), range(0, 10)));
  EXPECT_EQ(all_of(loader), range(0, 10)) << "the same run has gone on to the next";
  EXPECT_EQ(loader.state_dict(), (LoaderState{.epoch = 2, .seed = 3, .samples = 0}));
}

// Runs a collective in the body of the first step. It would hang if a process waited there for the
// end of the loop.
template <typename Loader>
void expect_no_wait_for_the_end(Accelerator& accelerator, Loader loader) {
  for ([[maybe_unused]] const int epoch : {0, 1}) {
    std::size_t steps = 0;
    for (const torch::Tensor& batch : loader) {
      if (++steps > 1) continue;
      EXPECT_EQ(values(accelerator.gather(batch % 100)), range(0, 4));
    }
    EXPECT_EQ(steps, accelerator.is_main_process() ? 2u : 1u);
    EXPECT_EQ(steps, loader.size());
  }
}

TEST(LoopTest, AProcessWithoutASliceOfTheLastBatchEndsAtOnce) {
  on_ranks(2, [] {
    Accelerator accelerator(
        {.even_batches = false, .dispatch_batches = true, .timeout = std::chrono::seconds(20)});
    expect_no_wait_for_the_end(accelerator,
                               accelerator.prepare(make_data_loader(StreamNumbers(5), 2)));
    expect_no_wait_for_the_end(accelerator, accelerator.prepare(make_data_loader<SequentialSampler>(
                                                MapNumbers(5), with_workers(2))));
  });
}

// Returns an empty batch at every second call.
struct Filtered : StreamNumbers {
  Filtered() : StreamNumbers(5, 2) {}
  std::optional<torch::Tensor> get_batch(std::size_t size) override {
    if (calls++ % 2 == 0) return torch::empty({0}, torch::kLong);
    return StreamNumbers::get_batch(size);
  }
  std::size_t calls = 0;
};

TEST(StreamTest, AnEmptyBatchIsNotTheEnd) {
  for (const std::size_t workers : {0, 1}) {
    auto loader = make_data_loader(Filtered(), with_workers(workers));
    EXPECT_EQ(all_of(loader), range(0, 5));
  }
}

}  // namespace
}  // namespace accel::runtime
