// Which threads read the batches, how far ahead they read, and where their failures are thrown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <latch>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "accel/data_loader.h"
#include "runtime/testing/loops.h"

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;
using torch::data::DataLoaderOptions;
using torch::data::samplers::SequentialSampler;

// Returns the threads of this process that are not among `others`.
std::set<std::string> threads(const std::set<std::string>& others = {}) {
  std::set<std::string> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string id = task.path().filename();
    if (!others.contains(id)) found.insert(id);
  }
  return found;
}

TEST(WorkersTest, TheOrderIsTheSamplers) {
  for (const std::size_t workers : {0, 1, 2, 5}) {
    for (const std::size_t jobs : {1, 2, 30}) {
      auto map = make_data_loader<SequentialSampler>(MapNumbers(101),
                                                     with_workers(workers).max_jobs(jobs));
      auto stream = make_data_loader(StreamNumbers(99, 3), with_workers(workers).max_jobs(jobs));
      EXPECT_EQ(all_of(map), range(0, 101));
      EXPECT_EQ(all_of(stream), range(0, 99));
      EXPECT_EQ(all_of(stream), range(100, 199));
    }
  }
}

// Collects the threads that read a dataset.
struct Readers {
  void note() {
    const std::lock_guard lock(*mutex);
    threads->insert(std::this_thread::get_id());
  }
  std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
  std::shared_ptr<std::set<std::thread::id>> threads =
      std::make_shared<std::set<std::thread::id>>();
};
struct NotedMap : torch::data::datasets::BatchDataset<NotedMap, torch::Tensor> {
  torch::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    readers.note();
    return numbers.get_batch(indices);
  }
  std::optional<std::size_t> size() const override { return numbers.size(); }
  MapNumbers numbers{40};
  Readers readers;
};
struct NotedStream : StreamNumbers {
  NotedStream() : StreamNumbers(40) {}
  std::optional<torch::Tensor> get_batch(std::size_t size) override {
    readers.note();
    return StreamNumbers::get_batch(size);
  }
  Readers readers;
};

template <typename Loader>
void expect_readers(Loader loader, const Readers& readers, std::size_t workers, std::size_t most) {
  EXPECT_EQ(all_of(loader), range(0, 40));
  const bool here = readers.threads->count(std::this_thread::get_id()) > 0;
  EXPECT_EQ(here, workers == 0);
  EXPECT_LE(readers.threads->size(), most);
}

TEST(WorkersTest, OnlyWorkersReadAndWithoutThemTheLoopItself) {
  for (const std::size_t workers : {0, 1, 3}) {
    NotedMap map;
    expect_readers(make_data_loader<SequentialSampler>(map, with_workers(workers)), map.readers,
                   workers, std::max<std::size_t>(workers, 1));
    NotedStream stream;
    expect_readers(make_data_loader(stream, with_workers(workers)), stream.readers, workers, 1);
  }
}

TEST(WorkersTest, ReadAsFarAheadAsTheyMayAndThePositionCountsWhatIsHandedOut) {
  MapNumbers dataset(1000);
  auto loader = make_data_loader<SequentialSampler>(dataset, with_workers(2).max_jobs(5))
                    .sharded({.prepared = true, .seed = 1});
  std::size_t step = 0;
  for ([[maybe_unused]] const torch::Tensor& batch : loader) {
    EXPECT_EQ(loader.state_dict().samples, 2 * ++step);
    // The current batch, the one that the loop reads ahead, and max_jobs.
    const std::size_t most = 2 * (step + 1 + 5);
    while (*dataset.read < most) std::this_thread::yield();
    EXPECT_EQ(*dataset.read, most);
    if (step == 50) break;
  }
}

TEST(WorkersTest, EndWithTheLoopHoweverItIsLeft) {
  const std::set<std::string> before = threads();
  // The kernel lists a thread for a moment after it was joined.
  const auto await_their_end = [&] {
    while (!threads(before).empty()) std::this_thread::yield();
  };
  auto map = make_data_loader<SequentialSampler>(MapNumbers(1000), with_workers(4));
  auto stream = make_data_loader(StreamNumbers(1000), with_workers(4));
  for ([[maybe_unused]] auto& batch : map) {
    EXPECT_EQ(threads(before).size(), 4u);
    break;
  }
  await_their_end();
  for ([[maybe_unused]] auto& batch : stream) {
    EXPECT_EQ(threads(before).size(), 1u);
    break;
  }
  await_their_end();
  EXPECT_THROW(for ([[maybe_unused]] auto& batch
                    : map) throw std::domain_error("in the loop"),
               std::domain_error);
  await_their_end();
  auto it = map.begin();
  while (it != map.end()) ++it;
  await_their_end();  // The threads end although the iterator lives.
  EXPECT_EQ(all_of(stream), range(100, 1100));
}

// Reads an epoch of `loader` into `seen`.
template <typename Loader>
void read_into(Values& seen, Loader& loader) {
  for (const torch::Tensor& batch : loader) {
    for (std::int64_t value : values(batch)) seen.push_back(value);
    EXPECT_FALSE(loader.end_of_dataloader()) << "there would have been more";
  }
}

TEST(FailureTest, IsThrownInPlaceOfItsBatchAndKeepsItsType) {
  for (const std::size_t workers : {0, 1, 3}) {
    for (const std::size_t at : {0, 1, 6, 7, 18}) {
      MapNumbers map(20);
      map.fails_at = at;
      auto loader = make_data_loader<SequentialSampler>(map, with_workers(workers));
      for (const std::size_t epoch : {1, 2}) {
        Values seen;
        EXPECT_THROW(read_into(seen, loader), std::out_of_range);
        EXPECT_EQ(seen, range(0, static_cast<std::int64_t>(at / 2 * 2)));
        EXPECT_EQ(loader.epoch(), epoch) << "the epoch is over";
      }
    }
    StreamNumbers stream(20);
    stream.fails_after = 8;
    auto loader = make_data_loader(stream, with_workers(workers));
    Values seen;
    EXPECT_THROW(read_into(seen, loader), std::runtime_error);
    EXPECT_EQ(seen, range(0, 8));
  }
}

struct TornSampler {
  void reset() { batches = 0; }
  std::optional<IndexBatch> next() {
    if (batches == 3) throw std::domain_error("no more indices");
    return IndexBatch{batches++};
  }
  std::size_t batches = 0;
};

TEST(FailureTest, OfASampler) {
  auto here = make_data_loader(MapNumbers(9), TornSampler(), with_workers(0));
  Values seen;
  EXPECT_THROW(read_into(seen, here), std::domain_error);
  EXPECT_EQ(seen, range(0, 2)) << "one batch further is looked at, for the end";
  auto there = make_data_loader(MapNumbers(9), TornSampler(), with_workers(2));
  EXPECT_THROW(there.begin(), std::domain_error) << "the sampler is drawn first";
}

// Reading any sample but the first blocks until `released`.
struct Late : MapNumbers {
  Late() : MapNumbers(2) {}
  torch::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    if (indices[0] > 0) released->wait();
    return MapNumbers::get_batch(indices);
  }
  std::shared_ptr<std::latch> released = std::make_shared<std::latch>(1);
};

TEST(FailureTest, ABatchThatTakesTooLong) {
  Late dataset;
  // With max_jobs(1), no job is taken before the result in front of it is. So begin() returns
  // before the latch is released. The timeout is also that of the first batch, whose thread may
  // stand still for some seconds.
  auto loader = make_data_loader<SequentialSampler>(
      dataset, DataLoaderOptions(1).workers(1).max_jobs(1).timeout(std::chrono::seconds(5)));
  auto it = loader.begin();
  EXPECT_THAT(values(*it), ElementsAre(0));
  dataset.released->count_down();
  EXPECT_THROW(++it, std::runtime_error);
}

struct Uncopyable : MapNumbers {
  Uncopyable() : MapNumbers(4) {}
  std::unique_ptr<int> own;
};

TEST(FailureTest, WorkersNeedACopyOfTheDataset) {
  auto here = make_data_loader<SequentialSampler>(Uncopyable(), with_workers(0));
  EXPECT_EQ(all_of(here), range(0, 4));
  auto there = make_data_loader<SequentialSampler>(Uncopyable(), with_workers(1));
  EXPECT_THROW(there.begin(), std::invalid_argument);
}

// Returns the samples, each with a random number below 1 added.
torch::Tensor with_noise(const torch::Tensor& numbers) {
  return numbers.to(torch::kDouble) +
         torch::rand(numbers.sizes(), transform_generator(), torch::kDouble);
}
struct NoisyMap : MapNumbers {
  NoisyMap() : MapNumbers(22) {}
  torch::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    return with_noise(MapNumbers::get_batch(indices));
  }
};
// Reads one sample at a time, so that its random numbers do not depend on the size of requests.
struct NoisyStream : StreamNumbers {
  NoisyStream() : StreamNumbers(22, 1) {}
  std::optional<torch::Tensor> get_batch(std::size_t size) override {
    auto batch = StreamNumbers::get_batch(size);
    return batch ? std::optional(with_noise(*batch)) : std::nullopt;
  }
};

// Returns the random numbers of the epoch that `state` continues: the fractions of its samples.
template <typename Dataset>
std::vector<double> noise(Dataset dataset, std::size_t workers, const LoaderState& state,
                          std::size_t batch_size = 2) {
  auto loader =
      [&] {
        const auto options = DataLoaderOptions(batch_size).workers(workers);
        if constexpr (stream_dataset<Dataset>) {
          return make_data_loader(dataset, options);
        } else {
          return make_data_loader<SequentialSampler>(dataset, options);
        }
      }()
          .sharded({.prepared = true, .seed = 5});
  loader.load_state_dict(state);
  std::vector<double> all;
  for (const torch::Tensor& batch : loader) {
    const torch::Tensor parts = batch.frac();
    all.insert(all.end(), parts.data_ptr<double>(), parts.data_ptr<double>() + parts.numel());
  }
  return all;
}

template <typename Dataset>
void expect_repeatable_noise() {
  const LoaderState begin{.epoch = 3, .seed = 5, .samples = 0};
  const std::vector<double> first = noise(Dataset(), 0, begin);
  EXPECT_EQ(std::set<double>(first.begin(), first.end()).size(), 22u) << "each one of its own";
  for (const std::size_t workers : {0, 1, 3}) {
    EXPECT_EQ(noise(Dataset(), workers, begin), first);
    EXPECT_EQ(noise(Dataset(), workers, {.epoch = 3, .seed = 5, .samples = 6}),
              std::vector<double>(first.begin() + 6, first.end()));
    EXPECT_NE(noise(Dataset(), workers, {.epoch = 4, .seed = 5, .samples = 0}), first);
    EXPECT_NE(noise(Dataset(), workers, {.epoch = 3, .seed = 6, .samples = 0}), first);
  }
}

TEST(TransformTest, RandomOnesAreRepeatable) {
  expect_repeatable_noise<NoisyMap>();
  expect_repeatable_noise<NoisyStream>();
  // Those of a stream do not depend on the batch size either.
  const LoaderState state{.epoch = 3, .seed = 5, .samples = 0};
  EXPECT_EQ(noise(NoisyStream(), 1, state, 5), noise(NoisyStream(), 0, state, 2));
}

TEST(TransformTest, OutsideOfPreparedLoadersTheyDrawFromTheProcess) {
  torch::manual_seed(8);
  const double expected = torch::rand(1, torch::kDouble).item<double>();
  torch::manual_seed(8);
  EXPECT_EQ(torch::rand(1, transform_generator(), torch::kDouble).item<double>(), expected);
  torch::manual_seed(8);
  auto loader = make_data_loader<SequentialSampler>(NoisyMap(), DataLoaderOptions(1));
  EXPECT_EQ((*loader.begin()).item<double>(), expected);
}

// Programs that were written for loaders without a state skip what they have seen.
TEST(SkipTest, AResumedEpochIsNotSkippedAgain) {
  const auto expect_rest = [](auto loader, std::int64_t epoch) {
    loader.load_state_dict({.epoch = 1, .seed = 3, .samples = 6});
    auto skipping = skip_first_batches(loader, 3);
    EXPECT_EQ(all_of(skipping), range(epoch + 6, epoch + 10));
    EXPECT_EQ(all_of(skipping), range(2 * epoch + 6, 2 * epoch + 10))
        << "the next, skipped as ever";
  };
  const LoaderContext context{.prepared = true, .seed = 3};
  expect_rest(make_data_loader<SequentialSampler>(MapNumbers(10), 2).sharded(context), 0);
  // The numbers of this stream contain the epoch.
  expect_rest(make_data_loader(StreamNumbers(10), 2).sharded(context), 100);
}

}  // namespace
}  // namespace accel::runtime
