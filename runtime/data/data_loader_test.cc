// Sharded loaders: those of all processes of a small world, side by side in one process.
#include "accel/data_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "accel/seedable_sampler.h"
#include "runtime/testing/datasets.h"

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
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

}  // namespace
}  // namespace accel::runtime
