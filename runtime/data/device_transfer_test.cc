// Copies to a fake device, without a GPU.
#include "runtime/data/device_transfer.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/data.h>

#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <string>

#include "accel/data_loader.h"
#include "runtime/testing/fake_device.h"

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;

class DeviceTransferTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { use_fake_device(); }
  void SetUp() override { notes.clear(); }
  std::vector<std::string>& notes = fake_notes();
};

// A program's own type of batch, with a map_tensors().
struct Pair {
  at::Tensor left, right;
  int number = 0;
  template <typename F>
  Pair map_tensors(F&& f) const {
    return {f(left), f(right), number};
  }
};

at::Tensor numbers(std::int64_t first) { return at::arange(first, first + 3); }

TEST_F(DeviceTransferTest, CopiesDuringTheComputationAndWaitsWhereTheBatchIsUsed) {
  const DeviceTransfer transfer(kFakeDevice, /*pin_memory=*/true, /*non_blocking=*/true);
  at::Tensor batch = numbers(5);
  transfer.pin(batch);
  const CopyEvent done = transfer.begin_copy(batch);
  EXPECT_EQ(batch.device(), kFakeDevice);
  EXPECT_TRUE(fake_stream_is_first());
  EXPECT_THAT(notes, ElementsAre("copy of pinned memory in the copies' stream",
                                 "record in the copies' stream"));
  notes.clear();
  transfer.finish_copy(batch, done);
  EXPECT_THAT(notes, ElementsAre("wait in the current stream", "use in the current stream"));
  EXPECT_TRUE(at::equal(batch.cpu(), numbers(5)));
}

TEST_F(DeviceTransferTest, WithoutNonBlockingEverythingIsInTheCurrentStream) {
  const DeviceTransfer transfer(kFakeDevice, /*pin_memory=*/false, /*non_blocking=*/false);
  at::Tensor batch = numbers(5);
  transfer.pin(batch);
  transfer.finish_copy(batch, transfer.begin_copy(batch));
  EXPECT_THAT(notes, ElementsAre("copy in the current stream"));
}

TEST_F(DeviceTransferTest, OnTheCpuATensorStaysTheSame) {
  const DeviceTransfer transfer(c10::kCPU, true, true);
  at::Tensor batch = numbers(5);
  const at::Tensor before = batch;
  transfer.pin(batch);
  transfer.finish_copy(batch, transfer.begin_copy(batch));
  EXPECT_TRUE(batch.is_same(before));
  EXPECT_THAT(notes, ElementsAre());
}

// The transfer of a loader that is not prepared, or without device placement.
TEST_F(DeviceTransferTest, WithoutADeviceATensorStaysWhereItIs) {
  const DeviceTransfer transfer(std::nullopt, /*pin_memory=*/true, /*non_blocking=*/true);
  const at::Tensor there = numbers(5).to(kFakeDevice), here = numbers(5);
  notes.clear();
  for (const at::Tensor& before : {there, here}) {
    at::Tensor batch = before;
    transfer.pin(batch);
    transfer.finish_copy(batch, transfer.begin_copy(batch));
    transfer.run_in_copy_stream([&] { transfer.copy_in_current_stream(batch); },
                                /*after_current=*/true);
    EXPECT_TRUE(batch.is_same(before));
  }
  EXPECT_THAT(notes, ElementsAre("use in the current stream"));
}

// The batches that rank 0 scatters may come from the host or from the device.
TEST_F(DeviceTransferTest, WorkInTheCopyStreamWaitsForTheTensorsThatItUses) {
  const DeviceTransfer transfer(kFakeDevice, /*pin_memory=*/false, /*non_blocking=*/true);
  at::Tensor batch = numbers(5);
  for (const bool is_there : {false, true}) {
    notes.clear();
    transfer.run_in_copy_stream([&] { transfer.copy_in_current_stream(batch); },
                                /*after_current=*/is_there);
    EXPECT_EQ(batch.device(), kFakeDevice);
    EXPECT_TRUE(fake_stream_is_first());
    if (is_there) {
      EXPECT_THAT(notes, ElementsAre("record in the current stream", "wait in the copies' stream",
                                     "use in the copies' stream"));
    } else {
      EXPECT_THAT(notes, ElementsAre("copy in the copies' stream"));
    }
  }
}

TEST_F(DeviceTransferTest, EveryTensorOfAStructureIsMoved) {
  using Example = torch::data::Example<>;
  std::tuple batch{Example(numbers(0), numbers(1)),
                   std::vector<std::pair<std::string, at::Tensor>>{{"a", numbers(2)}},
                   std::map<std::string, std::vector<at::Tensor>>{{"b", {numbers(3), {}}}},
                   std::optional<at::Tensor>(numbers(4)),
                   std::array<torch::data::TensorExample, 1>{numbers(5)},
                   Pair{numbers(6), {}, 6},
                   std::vector<int>{7},
                   std::string("eight")};
  DeviceTransfer(kFakeDevice, false, true).begin_copy(batch);
  EXPECT_EQ(notes.size(), 8u);  // Seven copies, one record.
  const auto& [example, pairs, map, optional, array, pair, ints, text] = batch;
  EXPECT_EQ(example.data.device(), kFakeDevice);
  EXPECT_TRUE(at::equal(example.target.cpu(), numbers(1)));
  EXPECT_TRUE(at::equal(pairs[0].second.cpu(), numbers(2)));
  EXPECT_TRUE(at::equal(map.at("b")[0].cpu(), numbers(3)));
  EXPECT_FALSE(map.at("b")[1].defined());
  EXPECT_EQ(optional->device(), kFakeDevice);
  EXPECT_EQ(array[0].data.device(), kFakeDevice);
  EXPECT_EQ(pair.left.device(), kFakeDevice);
  EXPECT_EQ(pair.number, 6);
  EXPECT_EQ(text, "eight");
}

struct ThreeEach : torch::data::datasets::BatchDataset<ThreeEach, at::Tensor> {
  at::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    *threads_of_operators = at::get_num_threads();
    return numbers(static_cast<std::int64_t>(indices[0]));
  }
  std::optional<std::size_t> size() const override { return 3; }
  std::shared_ptr<std::atomic<int>> threads_of_operators = std::make_shared<std::atomic<int>>(0);
};

TEST(WorkerTest, OperatorsRunInTheWorkersOwnThreadAlone) {
  at::set_num_threads(2);
  for (const std::size_t workers : {0, 2}) {
    ThreeEach dataset;
    auto loader = make_data_loader<torch::data::samplers::SequentialSampler>(
        dataset, torch::data::DataLoaderOptions(1).workers(workers));
    loader.begin();
    EXPECT_EQ(*dataset.threads_of_operators, workers == 0 ? 2 : 1);
    EXPECT_EQ(at::get_num_threads(), 2);
  }
}

// Makes its batches on the current device, as torch::kCUDA would.
struct OnCurrentDevice : ThreeEach {
  at::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    return ThreeEach::get_batch(indices).to(c10::Device(kFake));
  }
};

TEST_F(DeviceTransferTest, WorkersReadOnTheDeviceOfTheirProcess) {
  for (const bool is_moved : {true, false}) {
    const std::optional<c10::Device> to =
        is_moved ? std::optional(kSecondFakeDevice) : std::nullopt;
    auto loader =
        make_data_loader<torch::data::samplers::SequentialSampler>(
            OnCurrentDevice(), torch::data::DataLoaderOptions(1).workers(1))
            .sharded({.prepared = true,
                      .transfer = std::make_shared<DeviceTransfer>(
                          to, /*pin_memory=*/false, /*non_blocking=*/false, kSecondFakeDevice)});
    for (const at::Tensor& batch : loader) EXPECT_EQ(batch.device(), kSecondFakeDevice);
    EXPECT_EQ(notes.size(), 3u) << "a batch was made elsewhere and copied";
    notes.clear();
  }
}

struct OnTheDevice : ThreeEach {
  at::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    return ThreeEach::get_batch(indices).to(kFakeDevice);
  }
};

TEST_F(DeviceTransferTest, ALoaderThatIsNotPreparedMovesNothing) {
  auto loader = make_data_loader<torch::data::samplers::SequentialSampler>(OnTheDevice(), 1);
  for (const at::Tensor& batch : loader) EXPECT_EQ(batch.device(), kFakeDevice);
}

// The copy of batch k + 1 begins before batch k is processed, and is waited for afterwards.
TEST_F(DeviceTransferTest, ALoaderIsOneBatchAhead) {
  for (const std::size_t workers : {0, 2}) {
    notes.clear();
    auto loader =
        make_data_loader<torch::data::samplers::SequentialSampler>(
            ThreeEach(), torch::data::DataLoaderOptions(1).workers(workers))
            .sharded({.prepared = true,
                      .transfer = std::make_shared<DeviceTransfer>(kFakeDevice, true, true)});
    std::vector<bool> last;
    for (const at::Tensor& batch : loader) {
      EXPECT_TRUE(at::equal(batch.cpu(), numbers(static_cast<std::int64_t>(last.size()))));
      last.push_back(loader.end_of_dataloader());
      notes.push_back("process");
    }
    EXPECT_THAT(last, ElementsAre(false, false, true));
    const std::string copy = "copy of pinned memory in the copies' stream",
                      record = "record in the copies' stream", wait = "wait in the current stream",
                      use = "use in the current stream", process = "process";
    EXPECT_THAT(notes, ElementsAre(copy, record, wait, use, copy, record, process, wait, use, copy,
                                   record, process, wait, use, process));
  }
}

}  // namespace
}  // namespace accel::runtime
