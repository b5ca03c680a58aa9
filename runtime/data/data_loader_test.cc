// Sharded loaders: those of all processes of a small world, side by side in one process; and
// dispatching ones, in real processes.
#include "accel/data_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <set>
#include <stdexcept>

#include "accel/accelerator.h"
#include "accel/seedable_sampler.h"
#include "runtime/testing/datasets.h"
#include "runtime/testing/ranks.h"

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using torch::data::DataLoaderOptions;
using torch::data::samplers::RandomSampler;
using torch::data::samplers::SequentialSampler;
struct Shape {
  std::size_t num_processes, batch_size;
  bool split, even;
};

// The loaders of all processes of a world. They make each step together.
template <typename Loader>
class World {
 public:
  using Iterator = decltype(std::declval<Loader&>().begin());

  template <typename Make>
  World(const Shape& shape, Make&& make) {
    for (std::size_t p = 0; p < shape.num_processes; ++p) {
      loaders_.push_back(make(shape.batch_size)
                             .sharded({.prepared = true,
                                       .num_processes = shape.num_processes,
                                       .process_index = p,
                                       .split_batches = shape.split,
                                       .even_batches = shape.even,
                                       .dispatch_batches = false,
                                       .seed = 11}));
    }
  }

  void load(const LoaderState& state) {
    for (Loader& loader : loaders_) loader.load_state_dict(state);
  }

  // Reads an epoch and leaves it after `stop` steps. Returns the samples without repeated ones, and
  // the state at that moment.
  std::pair<Values, LoaderState> pass(std::size_t stop = 1000) {
    std::vector<Iterator> loops;
    for (Loader& loader : loaders_) loops.push_back(loader.begin());
    Values all;
    LoaderState state = loaders_[0].state_dict();
    for (std::size_t step = 0; step < stop && loops[0] != std::default_sentinel; ++step) {
      state = loaders_[0].state_dict();
      const std::size_t real = loaders_[0].real_samples(), before = all.size();
      for (std::size_t p = 0; p < loops.size(); ++p) {
        if (loops[p] == std::default_sentinel) continue;
        EXPECT_EQ(loaders_[p].state_dict(), state);
        for (std::int64_t value : values(*loops[p])) all.push_back(value);
      }
      EXPECT_GE(all.size(), before + real);
      all.resize(before + real);
      for (Iterator& loop : loops) {
        if (loop != std::default_sentinel) ++loop;
      }
    }
    return {all, state};
  }

 private:
  std::vector<Loader> loaders_;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (std::size_t n : {1, 2, 3}) {
    for (std::size_t b : {1, 2, 3}) {
      for (const bool even : {true, false}) {
        all.push_back({n, b, false, even});
        all.push_back({n, b * n, true, even});
      }
    }
  }
  return all;
}

// Stops an epoch at each step, in a world of each shape, and resumes in a world of another shape.
// Expects that both together have read each sample once, in the order of the epoch, and that the
// next epoch is whole.
template <typename Make>
void expect_exact_resume(std::size_t length, Make&& make) {
  using Loader = decltype(make(1));
  World<Loader> reference({1, 1, false, false}, make);
  const Values first = reference.pass().first, second = reference.pass().first;
  ASSERT_EQ(first.size(), length);
  const std::vector<Shape> all = shapes();
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t stop = 1; stop <= length + 1; ++stop) {
      World<Loader> before(all[i], make);
      auto [seen, state] = before.pass(stop);
      EXPECT_EQ(state.samples, seen.size());
      // The shape to resume in varies with the step, so that all pairs of shapes occur.
      World<Loader> after(all[(i + 5 * stop) % all.size()], make);
      after.load(state);
      for (std::int64_t value : after.pass().first) seen.push_back(value);
      ASSERT_EQ(seen, first) << "shape " << i << " stopped after " << stop;
      ASSERT_EQ(after.pass().first, second);
      if (state.samples == length) break;
    }
  }
}

TEST(ResumeTest, ExactWithARandomSampler) {
  for (std::size_t length : {1, 7, 12, 13}) {
    expect_exact_resume(length, [&](std::size_t batch_size) {
      return make_data_loader<RandomSampler>(MapNumbers(length), batch_size);
    });
  }
}

TEST(ResumeTest, ExactWithASeedableSamplerAndWorkers) {
  expect_exact_resume(11, [](std::size_t batch_size) {
    return make_data_loader(MapNumbers(11), SeedableRandomSampler(11, {.data_seed = 5}),
                            DataLoaderOptions(batch_size).workers(1));
  });
}

TEST(ResumeTest, ExactWithAStream) {
  for (std::size_t piece : {1, 2, 1000}) {
    expect_exact_resume(13, [&](std::size_t batch_size) {
      return make_data_loader(StreamNumbers(13, piece),
                              DataLoaderOptions(batch_size).workers(piece % 2));
    });
  }
}

TEST(ResumeTest, ExactWithABatchSampler) {
  const auto make = [](std::size_t) { return make_data_loader(MapNumbers(14), Bags{14}, 1); };
  World<decltype(make(1))> reference({1, 1, false, false}, make);
  const Values whole = reference.pass().first;
  for (const std::size_t n : {1, 2, 3}) {
    for (const std::size_t m : {1, 2, 3}) {
      for (std::size_t stop = 1; stop <= 8; ++stop) {
        World<decltype(make(1))> before({n, 1, false, false}, make);
        World<decltype(make(1))> after({m, 1, false, false}, make);
        auto [seen, state] = before.pass(stop);
        after.load(state);
        for (std::int64_t value : after.pass().first) seen.push_back(value);
        EXPECT_EQ(seen, whole) << n << " " << m << " " << stop;
      }
    }
  }
}

TEST(ResumeTest, NeedsAPreparedLoader) {
  auto loader = make_data_loader<SequentialSampler>(MapNumbers(3), 1);
  EXPECT_THROW(loader.state_dict(), std::logic_error);
  EXPECT_THROW(loader.load_state_dict({}), std::logic_error);
}

TEST(BatchSamplerTest, WholeBatchesAreSharded) {
  auto loader = make_data_loader(MapNumbers(9), Bags{9}, 1)
                    .sharded({.prepared = true, .num_processes = 2, .process_index = 1, .seed = 1});
  std::vector<Values> mine;
  for (const torch::Tensor& batch : loader) mine.push_back(values(batch));
  EXPECT_THAT(mine, ElementsAre(ElementsAre(1, 2), ElementsAre(6), ElementsAre(0)));
}

TEST(SkipTest, ReadsNothingAndEpochsStillCount) {
  MapNumbers dataset(20);
  auto loader = make_data_loader<RandomSampler>(dataset, 4).sharded({.prepared = true, .seed = 3});
  auto skipping = skip_first_batches(loader, 3);
  EXPECT_EQ(skipping.size(), 2u);
  Values rest, whole;
  for (const torch::Tensor& batch : skipping) {
    for (std::int64_t value : values(batch)) rest.push_back(value);
    EXPECT_EQ(loader.state_dict().samples, 12 + rest.size());
  }
  EXPECT_EQ(*dataset.read, 8u);
  EXPECT_EQ(loader.epoch(), 1u);
  loader.set_epoch(0);
  for (const torch::Tensor& batch : loader) {
    for (std::int64_t value : values(batch)) whole.push_back(value);
  }
  EXPECT_EQ(rest, Values(whole.begin() + 12, whole.end()));
}

TEST(SkipTest, SkippingMoreBatchesThanThereAreLeavesNone) {
  auto map = skip_first_batches(make_data_loader<SequentialSampler>(MapNumbers(3), 2), 9);
  auto stream = skip_first_batches(make_data_loader(StreamNumbers(3), 2), 9);
  EXPECT_TRUE(map.begin() == map.end());
  EXPECT_TRUE(stream.begin() == stream.end());
  EXPECT_EQ(map.size() + stream.size(), 0u);
}

// A StreamDataset of torch without an end, whose batches are vectors of examples. Its sampler ends
// an epoch.
struct Endless : torch::data::datasets::StreamDataset<Endless> {
  std::vector<torch::data::Example<>> get_batch(std::size_t size) override {
    std::vector<torch::data::Example<>> batch;
    for (std::size_t i = 0; i < size; ++i) {
      batch.emplace_back(torch::tensor(next), torch::tensor(-next));
      ++next;
    }
    return batch;
  }
  std::optional<std::size_t> size() const override { return std::nullopt; }
  std::int64_t next = 0;
};

TEST(StreamTest, OfExamplesIsSharded) {
  auto loader = make_data_loader(Endless(), torch::data::samplers::StreamSampler(5), 2)
                    .sharded({.prepared = true, .num_processes = 2, .process_index = 1, .seed = 1});
  Values mine;
  for (const auto& batch : loader) {
    EXPECT_EQ(batch.size(), 2u);
    for (const auto& example : batch) {
      EXPECT_EQ(example.target.item<std::int64_t>(), -example.data.item<std::int64_t>());
      mine.push_back(example.data.item<std::int64_t>());
    }
  }
  EXPECT_THAT(mine, ElementsAre(2, 3, 1, 2));
  EXPECT_THROW(loader.size(), std::logic_error);
}

TEST(StreamTest, CollatedExamplesAndAnEpochLeftEarly) {
  auto loader = make_data_loader(Endless().map(torch::data::transforms::Stack<>()),
                                 torch::data::samplers::StreamSampler(4), 2);
  for ([[maybe_unused]] auto& batch : loader) break;
  std::size_t samples = 0;
  for (auto& batch : loader) {
    EXPECT_TRUE(torch::equal(batch.data, -batch.target));
    samples += static_cast<std::size_t>(batch.data.size(0));
  }
  EXPECT_EQ(samples, 4u);
}

TEST(StreamTest, EpochsAreNumberedForTheDataset) {
  auto loader = make_data_loader(StreamNumbers(3), 4);
  for (std::int64_t epoch : {0, 1}) {
    for (const torch::Tensor& batch : loader) {
      EXPECT_THAT(values(batch), ElementsAre(100 * epoch, 100 * epoch + 1, 100 * epoch + 2));
    }
  }
}

TEST(DispatchTest, RefusesBatchesThatAreNoTensors) {
  const LoaderContext context{.prepared = true, .num_processes = 2, .dispatch_batches = true};
  auto loader = make_data_loader(Endless(), torch::data::samplers::StreamSampler(5), 2);
  EXPECT_THROW(loader.sharded(context), std::invalid_argument);
}

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

}  // namespace
}  // namespace accel::runtime
