// Loaders in real processes: those that read their own share, and those that rank 0 reads for all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "accel/accelerator.h"
#include "accel/data_loader.h"
#include "runtime/testing/datasets.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/ranks.h"

namespace accel::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using torch::data::DataLoaderOptions;
using torch::data::samplers::RandomSampler;
using torch::data::samplers::SequentialSampler;

// Gathers the rest of an epoch, or `stop` steps of it.
template <typename Loader>
Values gathered(Accelerator& accelerator, Loader& loader, std::size_t stop = 1000) {
  Values all;
  std::size_t steps = 0;
  for (auto& batch : loader) {
    for (std::int64_t value : values(accelerator.gather_for_metrics(batch))) all.push_back(value);
    if (++steps == stop) break;
  }
  return all;
}

// Expects that each sample after `skip` steps of at most `step` samples is gathered once, in order.
template <typename Loader>
void expect_gathered_once(Accelerator& accelerator, const Loader& plain, std::size_t length,
                          std::size_t skip, std::size_t step) {
  auto loader = accelerator.skip_first_batches(accelerator.prepare(plain), skip);
  Values rest(length - std::min(length, skip * step));
  std::iota(rest.begin(), rest.end(), static_cast<std::int64_t>(length - rest.size()));
  EXPECT_EQ(gathered(accelerator, loader), rest) << length << " " << skip << " " << step;
}

TEST(MetricsTest, EachSampleCountsOnce) {
  on_ranks(3, [] {
    const Accelerator world;
    for (const int bits : {0, 1, 2, 3}) {
      const bool split = (bits & 1) != 0;
      Accelerator accelerator({.split_batches = split, .dispatch_batches = (bits & 2) != 0});
      for (const std::size_t per_rank : {1, 2, 4}) {
        for (const std::size_t length : {0, 1, 2, 3, 7, 12, 13, 24, 25}) {
          for (const std::size_t skip : {0, 1, 3}) {
            const auto options =
                DataLoaderOptions(split ? 3 * per_rank : per_rank).workers(length % 2);
            expect_gathered_once(accelerator,
                                 make_data_loader<SequentialSampler>(MapNumbers(length), options),
                                 length, skip, 3 * per_rank);
            expect_gathered_once(accelerator, make_data_loader(StreamNumbers(length, 5), options),
                                 length, skip, 3 * per_rank);
          }
        }
      }
    }
  });
}

TEST(DispatchTest, OneReaderExactResumeAndEarlyExit) {
  for (const int world_size : {2, 3}) {
    on_ranks(world_size, [] {
      Accelerator accelerator({.dispatch_batches = true, .data_seed = 11});
      for (const std::size_t workers : {0, 2}) {
        MapNumbers dataset(23);
        auto loader = accelerator.prepare(
            make_data_loader<RandomSampler>(dataset, DataLoaderOptions(2).workers(workers)));
        const Values whole = gathered(accelerator, loader);
        EXPECT_EQ(std::set<std::int64_t>(whole.begin(), whole.end()).size(), 23u);
        EXPECT_EQ(whole.size(), 23u);
        if (!accelerator.is_main_process()) {
          EXPECT_EQ(*dataset.read, 0u);
        }
        gathered(accelerator, loader, 1);
        const std::size_t seen = 2 * static_cast<std::size_t>(accelerator.num_processes());
        EXPECT_EQ(loader.state_dict(), (LoaderState{.epoch = 1, .seed = 11, .samples = seen}));
        // A state that any number of processes may have saved.
        loader.load_state_dict({.epoch = 0, .seed = 11, .samples = 9});
        EXPECT_EQ(gathered(accelerator, loader), Values(whole.begin() + 9, whole.end()));
      }
    });
  }
}

TEST(DispatchTest, UnevenBatchesRepeatNothing) {
  on_ranks(3, [] {
    Accelerator accelerator({.even_batches = false});
    auto loader = accelerator.prepare(make_data_loader(StreamNumbers(8), 2));
    std::vector<Values> mine;
    for (const torch::Tensor& batch : loader) mine.push_back(values(batch));
    EXPECT_EQ(loader.size(), mine.size());
    const std::vector<Values> expected[] = {{{0, 1}, {6}}, {{2, 3}, {7}}, {{4, 5}}};
    EXPECT_EQ(mine, expected[accelerator.process_index()]);
    accelerator.wait_for_everyone();
  });
}

TEST(DispatchTest, AReaderThatFailsIsAnErrorOnAllRanks) {
  on_ranks(2, [] {
    Accelerator accelerator;
    StreamNumbers stream(20);
    stream.fails_after = 8;
    auto loader = accelerator.prepare(make_data_loader(stream, 2));
    if (accelerator.is_main_process()) {
      EXPECT_THROW(gathered(accelerator, loader), std::runtime_error);
    } else {
      EXPECT_THROW(gathered(accelerator, loader), CommunicationError);
    }
  });
}

struct Unordered {
  void reset() { throw std::domain_error("no order today"); }
  std::optional<IndexBatch> next() { return std::nullopt; }
};
struct Uncopyable : MapNumbers {
  Uncopyable() : MapNumbers(4) {}
  std::unique_ptr<int> own;
};

// Expects an error on all ranks, because rank 0 cannot open the epoch, and that a collective works
// afterwards.
template <typename Error, typename Loader>
void expect_unreadable(Accelerator& accelerator, Loader loader) {
  if (accelerator.is_main_process()) {
    EXPECT_THROW(loader.begin(), Error);
  } else {
    EXPECT_THAT([&] { loader.begin(); },
                ThrowsMessage<CommunicationError>(HasSubstr("rank 0, which reads for all")));
  }
  EXPECT_EQ(accelerator.gather(torch::ones({1})).size(0), 2);
}

TEST(DispatchTest, AReaderThatCannotBeginIsAnErrorOnAllRanks) {
  on_ranks(2, [] {
    Accelerator accelerator({.dispatch_batches = true, .timeout = std::chrono::seconds(20)});
    expect_unreadable<std::domain_error>(
        accelerator, accelerator.prepare(make_data_loader(MapNumbers(4), Unordered(), 1)));
    expect_unreadable<std::invalid_argument>(
        accelerator, accelerator.prepare(make_data_loader<SequentialSampler>(
                         Uncopyable(), DataLoaderOptions(1).workers(1))));
    StreamNumbers stream(20);
    stream.fails_after = 4;
    auto resumed = accelerator.prepare(make_data_loader(stream, 2));
    resumed.load_state_dict({.epoch = 0, .seed = 11, .samples = 8});
    expect_unreadable<std::runtime_error>(accelerator, resumed);
  });
}

// Sample i is the pair of i and 10 * i.
struct Pairs : torch::data::datasets::BatchDataset<Pairs, std::pair<torch::Tensor, torch::Tensor>> {
  std::pair<torch::Tensor, torch::Tensor> get_batch(c10::ArrayRef<std::size_t> indices) override {
    const torch::Tensor numbers =
        torch::tensor(std::vector<std::int64_t>(indices.begin(), indices.end()), torch::kLong);
    return {numbers, 10 * numbers};
  }
  std::optional<std::size_t> size() const override { return 4; }
};

TEST(DispatchTest, PairsOfTensors) {
  on_ranks(2, [] {
    Accelerator accelerator({.dispatch_batches = true});
    auto loader = accelerator.prepare(make_data_loader<SequentialSampler>(Pairs(), 2));
    const std::int64_t first = 2 * accelerator.process_index();
    for (const auto& [numbers, tens] : loader) {
      EXPECT_EQ(values(numbers), (Values{first, first + 1}));
      EXPECT_EQ(values(tens), (Values{10 * first, 10 * first + 10}));
    }
  });
}

// Rank 0 broadcasts five numbers of the program's where the other rank expects the next step. The
// first case would be the end of the loop, and the second a batch that fits no memory.
TEST(DispatchTest, AStepThatRankZeroDidNotSendIsRefused) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  for (const Values& numbers : {Values{0, 0, 0, 0, 0}, Values{1, kHuge, kHuge, kHuge, kHuge}}) {
    on_ranks(2, [&] {
      Accelerator accelerator({.dispatch_batches = true, .timeout = std::chrono::seconds(20)});
      auto loader = accelerator.prepare(make_data_loader(StreamNumbers(8), 2));
      if (accelerator.is_main_process()) return void(accelerator.broadcast(torch::tensor(numbers)));
      EXPECT_THAT(error_of<CallsDiffer>([&] { loader.begin(); }),
                  AllOf(HasSubstr("rank 1 of 2: the next batch of a dispatched loader (broadcast)"),
                        HasSubstr("rank 0 sent no kind of a step, so it is in another call"),
                        HasSubstr("same accel methods in the same order")));
    });
  }
}

}  // namespace
}  // namespace accel::runtime
