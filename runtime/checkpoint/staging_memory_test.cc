#include "runtime/checkpoint/staging_memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace accel::runtime {
namespace {

constexpr std::size_t kSize = 48 << 20;

// Returns true if all of the memory can be written and keeps what was written.
bool holds(char* memory, std::size_t size) {
  std::memset(memory, 7, size);
  return memory[0] == 7 && memory[size - 1] == 7;
}

TEST(StagingMemory, IsKeptUntilMoreIsNeeded) {
  StagingMemory memory;
  EXPECT_EQ(memory.reserve(0), nullptr);
  char* first = memory.reserve(kSize);
  EXPECT_TRUE(holds(first, kSize));
  EXPECT_EQ(memory.reserve(kSize / 2), first);
  EXPECT_EQ(first[kSize - 1], 7);
  EXPECT_TRUE(holds(memory.reserve(2 * kSize), 2 * kSize));
}

// reserve() may come while the memory is still being touched.
TEST(StagingMemory, ReserveReturnsEnoughWhateverWasPrepared) {
  for (const std::size_t prepared : {std::size_t{0}, std::size_t{1}, kSize, 4 * kSize}) {
    StagingMemory memory;
    memory.prepare(prepared);
    memory.prepare(prepared / 2);
    EXPECT_TRUE(holds(memory.reserve(kSize), kSize)) << prepared;
    memory.prepare(2 * kSize);
    EXPECT_TRUE(holds(memory.reserve(2 * kSize), 2 * kSize)) << prepared;
  }
  StagingMemory let_go;
  let_go.prepare(4 * kSize);
}

}  // namespace
}  // namespace accel::runtime
