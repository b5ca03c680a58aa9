#include "runtime/comm/ring_chunks.h"

#include <gtest/gtest.h>

namespace accel::runtime {
namespace {

// These tests check the arithmetic. shared_memory_backend_test.cc shows that the result is Gloo's,
// by comparison with Gloo itself.
TEST(RingChunksTest, TwoSegmentsToAChunkAtLeast) {
  EXPECT_EQ(ring_chunk_elements(1, 4, 2), 2u);
  EXPECT_EQ(ring_chunk_elements(8, 4, 2), 4u);
  EXPECT_EQ(ring_chunk_elements(9, 4, 2), 6u);  // Four segments of three.
  EXPECT_EQ(ring_chunk_elements(13, 4, 3), 6u);
}

TEST(RingChunksTest, SegmentsOfAMebibyteAtMost) {
  constexpr std::size_t kMebi = 1 << 20;
  EXPECT_EQ(ring_chunk_elements(4 * kMebi / 4, 4, 2), 2 * kMebi / 4);
  // Five segments become six of 5/6 MiB.
  EXPECT_EQ(ring_chunk_elements(5 * kMebi / 4, 4, 2), 3 * ((5 * kMebi + 23) / 24));
}

TEST(RingChunksTest, ChunksCoverTheTensor) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (std::size_t size : {1u, 2u, 4u, 8u}) {
      for (std::size_t elements : {1u, 2u, 3u, 7u, 31u, 1000u, 65537u, 1048577u}) {
        EXPECT_GE(ring_chunk_elements(elements, size, ranks) * ranks, elements)
            << elements << " elements of " << size << " on " << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace accel::runtime
