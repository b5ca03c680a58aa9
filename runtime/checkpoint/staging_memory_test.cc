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

// Notes what is locked, and checks that it is memory of this process.
struct Locks {
  PageLocks functions() {
    return {.lock =
                [this](void* memory, std::size_t size) {
                  if (refuses) return false;
                  EXPECT_TRUE(holds(static_cast<char*>(memory), size));
                  EXPECT_EQ(locked, nullptr);
                  locked = memory;
                  ++count;
                  return true;
                },
            .unlock =
                [this](void* memory) {
                  EXPECT_EQ(memory, locked);
                  EXPECT_EQ(*static_cast<char*>(memory), 7) << "it has been released already";
                  locked = nullptr;
                }};
  }
  void* locked = nullptr;
  int count = 0;
  bool refuses = false;
};

TEST(StagingMemory, IsLockedOnceForAsLongAsItLasts) {
  Locks locks;
  {
    StagingMemory memory(locks.functions());
    EXPECT_EQ(memory.reserve(0), nullptr);
    for (int save = 0; save < 2; ++save) EXPECT_EQ(memory.reserve(kSize), locks.locked);
    EXPECT_EQ(locks.count, 1);
    EXPECT_EQ(memory.reserve(2 * kSize), locks.locked);
    EXPECT_EQ(locks.count, 2);
    memory.prepare(3 * kSize);
    EXPECT_EQ(memory.reserve(3 * kSize), locks.locked);
    EXPECT_EQ(locks.count, 3) << "in the background or in reserve(), but not in both";
  }
  EXPECT_EQ(locks.locked, nullptr);
}

TEST(StagingMemory, WorksIfItCannotBeLocked) {
  Locks locks;
  locks.refuses = true;
  StagingMemory memory(locks.functions());
  EXPECT_TRUE(holds(memory.reserve(kSize), kSize));
}

}  // namespace
}  // namespace accel::runtime
