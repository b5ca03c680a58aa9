#include "runtime/memory/large_blocks.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace accel::runtime {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

at::Tensor bytes(std::int64_t size) { return at::empty({size}, at::kByte); }

// Returns true if the address is in a mapping of this process.
bool is_mapped(const void* memory) {
  std::ifstream maps("/proc/self/maps");
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  for (std::string line; std::getline(maps, line);) {
    std::size_t dash = 0;
    const std::uintptr_t begin = std::stoull(line, &dash, 16);
    if (address >= begin && address < std::stoull(line.substr(dash + 1), nullptr, 16)) return true;
  }
  return false;
}

class LargeBlocksTest : public ::testing::Test {
 protected:
  LargeBlocksTest() : earlier_(at::full({4 * kMiB}, 7, at::kByte)) { use_large_blocks(); }

  const at::Tensor earlier_;  // Made before, at least in the first test.
};

TEST_F(LargeBlocksTest, AFreedTensorsMemoryIsThatOfTheNextOfTheSameSize) {
  bytes(20 * kMiB);  // So much may be kept from here on.
  at::Tensor first = bytes(5 * kMiB), second = bytes(5 * kMiB);
  const void* const memory = first.data_ptr();
  first.fill_(1);
  first.reset();
  EXPECT_TRUE(is_mapped(memory));
  EXPECT_NE(bytes(6 * kMiB).data_ptr(), memory);
  EXPECT_EQ(bytes(5 * kMiB - 100).data_ptr(), memory);  // It has as many pages.
}

TEST_F(LargeBlocksTest, LargeTensorsBeginWithAHugePageAndSmallOnesAreElsewhere) {
  const at::Tensor large = bytes(3 * kMiB);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data_ptr()) % (2 * kMiB), 0u);
  const at::Tensor page = bytes(kMiB);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page.data_ptr()) % 4096, 0u);
  EXPECT_EQ(bytes(0).numel(), 0);
  EXPECT_EQ(bytes(100).fill_(3).sum().item<int>(), 300);
}

TEST_F(LargeBlocksTest, WithoutLargeBlocksTheCLibraryHasTheMemory) {
  at::Tensor tensor = bytes(9 * kMiB);
  const void* const memory = tensor.data_ptr();
  tensor.reset();
  {
    const WithoutLargeBlocks scope;
    EXPECT_NE(bytes(9 * kMiB).data_ptr(), memory);
  }
  EXPECT_EQ(bytes(9 * kMiB).data_ptr(), memory);
}

TEST_F(LargeBlocksTest, WhatIsFreedIsUnmappedBeforeTheProcessGrows) {
  at::Tensor tensor = bytes(64 * kMiB);
  void* const memory = tensor.data_ptr();
  tensor.reset();
  EXPECT_TRUE(is_mapped(memory));
  const at::Tensor larger = bytes(65 * kMiB);
  const auto begin = reinterpret_cast<std::uintptr_t>(larger.data_ptr());
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  EXPECT_TRUE(!is_mapped(memory) || (address >= begin && address < begin + 65 * kMiB));
}

TEST_F(LargeBlocksTest, WhatIsNotReusedIsUnmappedAlthoughOthersAre) {
  const at::Tensor peak = bytes(64 * kMiB);
  at::Tensor tensor = bytes(33 * kMiB);
  void* const memory = tensor.data_ptr();
  bytes(kMiB);
  tensor.reset();
  EXPECT_TRUE(is_mapped(memory));
  for (int i = 0; i < 5000; ++i) bytes(kMiB);
  EXPECT_FALSE(is_mapped(memory));
}

TEST_F(LargeBlocksTest, TensorsOfBothKindsGrowAndAreFreedInAnyThread) {
  EXPECT_EQ(earlier_.sum().item<std::int64_t>(), 7 * 4 * kMiB);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      at::Tensor tensor = at::full({100}, t, at::kByte);
      for (std::int64_t size = 1000; size < 8 * kMiB; size *= 3) {
        tensor.resize_({size});
        EXPECT_EQ(tensor.slice(0, 0, 100).sum().item<int>(), 100 * t);
      }
    });
  }
}

TEST_F(LargeBlocksTest, RawMemoryOfBothKindsIsTakenBack) {
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  for (const std::int64_t size : {std::int64_t{100}, 2 * kMiB}) {
    void* const memory = allocator->raw_allocate(static_cast<std::size_t>(size));
    ASSERT_NE(memory, nullptr);
    allocator->raw_deallocate(memory);
  }
}

TEST_F(LargeBlocksTest, MoreThanThereIsIsLibTorchsErrorAndHarmsNothing) {
  EXPECT_THROW(bytes(std::int64_t{1} << 55), c10::Error);
  EXPECT_EQ(bytes(2 * kMiB).fill_(1).sum().item<std::int64_t>(), 2 * kMiB);
}

}  // namespace
}  // namespace accel::runtime
