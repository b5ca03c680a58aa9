// Copies to a fake device, without a GPU. LibTorch reserves the device type PrivateUse1 for devices
// that it does not know. The fake one registers as such. It works at once, in host memory, and
// notes what it is asked to do in which stream.
#include "runtime/data/device_transfer.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/data.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "accel/data_loader.h"

namespace accel::runtime {
namespace {

using ::testing::ElementsAre;

constexpr c10::DeviceType kFake = c10::DeviceType::PrivateUse1;
const c10::Device kDevice(kFake, 0);
constexpr c10::StreamId kCompute = 0, kCopies = 7;

std::vector<std::string> notes;
c10::StreamId current_stream = kCompute;

void note(const std::string& what, c10::StreamId stream) {
  notes.push_back(what + (stream == kCopies ? " in the copies' stream" : " in the current stream"));
}

struct FakeStreams final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kFake; }
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Stream getStream(c10::Device) const noexcept override {
    return c10::Stream(c10::Stream::UNSAFE, kDevice, current_stream);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    return c10::Stream(c10::Stream::UNSAFE, kDevice, kCopies);
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return c10::Stream(c10::Stream::UNSAFE, kDevice, std::exchange(current_stream, stream.id()));
  }
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex,
              c10::EventFlag) const override {
    *event = &notes;  // Any pointer but null.
    note("record", stream.id());
  }
  void block(void*, const c10::Stream& stream) const override { note("wait", stream.id()); }
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream& stream) const override {
    note("use", stream.id());
  }
};

// Host memory that LibTorch takes for the device's memory, or for pinned memory.
struct FakeMemory final : at::HostAllocator {
  explicit FakeMemory(c10::Device device) : device_(device) {}
  at::DataPtr allocate(std::size_t size) override {
    void* memory = std::malloc(size);
    allocated.insert(memory);
    return {memory, memory, &std::free, device_};
  }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    std::memcpy(to, from, size);
  }
  bool record_event(void*, void*, c10::Stream) override { return true; }
  void empty_cache() override {}
  at::HostStats get_stats() override { return {}; }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}
  std::set<const void*> allocated;
  const c10::Device device_;
};
FakeMemory device_memory(kDevice), pinned_memory(c10::kCPU);

struct FakeHooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isPinnedPtr(const void* data) const override { return pinned_memory.allocated.count(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_memory; }
};

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(sizes, strides, &device_memory,
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           dtype.value_or(at::kFloat));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  std::memcpy(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
  if (from.is_cpu()) {
    note(std::string(non_blocking ? "copy" : "blocking copy") +
             (pinned_memory.allocated.count(from.const_data_ptr()) ? " of pinned memory" : ""),
         current_stream);
  }
  return to;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty_strided", empty_strided);
  library.impl("_copy_from", copy_from);
}

class DeviceTransferTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static FakeStreams streams;
    static FakeHooks hooks;
    static const c10::impl::DeviceGuardImplRegistrar registered(kFake, &streams);
    c10::register_privateuse1_backend("fake");
    at::RegisterPrivateUse1HooksInterface(&hooks);
    at::setHostAllocator(kFake, &pinned_memory);
  }
  void SetUp() override { notes.clear(); }
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
  const DeviceTransfer transfer(kDevice, /*pin_memory=*/true, /*non_blocking=*/true);
  at::Tensor batch = numbers(5);
  transfer.pin(batch);
  const CopyEvent done = transfer.begin_copy(batch);
  EXPECT_EQ(batch.device(), kDevice);
  EXPECT_EQ(current_stream, kCompute);
  EXPECT_THAT(notes, ElementsAre("copy of pinned memory in the copies' stream",
                                 "record in the copies' stream"));
  notes.clear();
  transfer.finish_copy(batch, done);
  EXPECT_THAT(notes, ElementsAre("wait in the current stream", "use in the current stream"));
  EXPECT_TRUE(at::equal(batch.cpu(), numbers(5)));
}

TEST_F(DeviceTransferTest, WithoutNonBlockingEverythingIsInTheCurrentStream) {
  const DeviceTransfer transfer(kDevice, /*pin_memory=*/false, /*non_blocking=*/false);
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
  const at::Tensor there = numbers(5).to(kDevice), here = numbers(5);
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
  const DeviceTransfer transfer(kDevice, /*pin_memory=*/false, /*non_blocking=*/true);
  at::Tensor batch = numbers(5);
  for (const bool is_there : {false, true}) {
    notes.clear();
    transfer.run_in_copy_stream([&] { transfer.copy_in_current_stream(batch); },
                                /*after_current=*/is_there);
    EXPECT_EQ(batch.device(), kDevice);
    EXPECT_EQ(current_stream, kCompute);
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
  DeviceTransfer(kDevice, false, true).begin_copy(batch);
  EXPECT_EQ(notes.size(), 8u);  // Seven copies, one record.
  const auto& [example, pairs, map, optional, array, pair, ints, text] = batch;
  EXPECT_EQ(example.data.device(), kDevice);
  EXPECT_TRUE(at::equal(example.target.cpu(), numbers(1)));
  EXPECT_TRUE(at::equal(pairs[0].second.cpu(), numbers(2)));
  EXPECT_TRUE(at::equal(map.at("b")[0].cpu(), numbers(3)));
  EXPECT_FALSE(map.at("b")[1].defined());
  EXPECT_EQ(optional->device(), kDevice);
  EXPECT_EQ(array[0].data.device(), kDevice);
  EXPECT_EQ(pair.left.device(), kDevice);
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

struct OnTheDevice : ThreeEach {
  at::Tensor get_batch(c10::ArrayRef<std::size_t> indices) override {
    return ThreeEach::get_batch(indices).to(kDevice);
  }
};

TEST_F(DeviceTransferTest, ALoaderThatIsNotPreparedMovesNothing) {
  auto loader = make_data_loader<torch::data::samplers::SequentialSampler>(OnTheDevice(), 1);
  for (const at::Tensor& batch : loader) EXPECT_EQ(batch.device(), kDevice);
}

// The copy of batch k + 1 begins before batch k is processed, and is waited for afterwards.
TEST_F(DeviceTransferTest, ALoaderIsOneBatchAhead) {
  for (const std::size_t workers : {0, 2}) {
    notes.clear();
    auto loader = make_data_loader<torch::data::samplers::SequentialSampler>(
                      ThreeEach(), torch::data::DataLoaderOptions(1).workers(workers))
                      .sharded({.prepared = true,
                                .transfer = std::make_shared<DeviceTransfer>(kDevice, true, true)});
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
