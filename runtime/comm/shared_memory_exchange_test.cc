#include "runtime/comm/shared_memory_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <thread>

#include "runtime/comm/ring_chunks.h"
#include "runtime/testing/error_of.h"

namespace accel::runtime {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kSlot = 8192;
constexpr milliseconds kLong(40000);

void add_floats(void* out, const void* a, const void* b, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    static_cast<float*>(out)[i] = static_cast<const float*>(a)[i] + static_cast<const float*>(b)[i];
  }
}
constexpr ElementReduction kSum{.function = add_floats, .element_size = sizeof(float), .code = 1};

using Body = std::function<void(SharedMemoryExchange&)>;

// Waits until all ranks have mapped the segment, as the ranks of a world do before their first
// call: a rank that has not taken its lock yet would be reported as dead.
void await_others(const SharedMemorySegment& segment, int ranks) {
  for (int rank = 1; rank < ranks; ++rank) {
    while (!segment.has_mapped(rank)) usleep(100);
  }
}

// Runs `body` in one process per rank. Rank 0 is this process. Rank `dying` kills
// itself after `body`.
void on_forks(int ranks, const Body& body, int dying = -1) {
  auto segment = SharedMemorySegment::create(ranks, kSlot);
  const std::string address = segment->address();
  std::vector<pid_t> pids;
  for (int rank = 1; rank < ranks; ++rank) {
    pids.push_back(fork());
    if (pids.back() != 0) continue;
    alarm(120);
    {
      auto mapped = SharedMemorySegment::attach(address, rank, ranks);
      await_others(*mapped, ranks);
      SharedMemoryExchange exchange(std::move(mapped));
      body(exchange);
      if (rank == dying) kill(getpid(), SIGKILL);
    }
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  await_others(*segment, ranks);
  {
    SharedMemoryExchange exchange(std::move(segment));
    body(exchange);
  }
  for (int rank = 1; rank < ranks; ++rank) {
    int status = -1;
    waitpid(pids[rank - 1], &status, 0);
    EXPECT_EQ(status, rank == dying ? SIGKILL : 0) << "rank " << rank;
  }
}

std::vector<float> random_floats(std::size_t elements, int rank, unsigned seed) {
  // Cheap, because each rank computes the numbers of all. The standard library's distributions took
  // most of this test's time. The sum of such numbers depends on its order as well.
  std::uint32_t state = (seed * 1000 + static_cast<unsigned>(rank) + 1) * 2654435761u;
  std::vector<float> out(elements);
  for (float& value : out) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<std::int32_t>(state)) / 1e9f;
  }
  return out;
}

// Computes the sum in the order that ring_chunks.h defines, one element after the other.
std::vector<float> expected_sum(std::size_t elements, int ranks, unsigned seed) {
  std::vector<std::vector<float>> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(random_floats(elements, rank, seed));
  const std::size_t chunk = ring_chunk_elements(elements, sizeof(float), ranks);
  std::vector<float> sum(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const int owner = static_cast<int>(i / chunk);
    sum[i] = all[(owner + ranks - 1) % ranks][i];
    for (int step = ranks - 2; step >= 0; --step) sum[i] = all[(owner + step) % ranks][i] + sum[i];
  }
  return sum;
}

TEST(SharedMemoryExchangeTest, SumsInTheOrderOfTheRing) {
  for (const int ranks : {2, 3, 5, 8}) {
    on_forks(ranks, [&](SharedMemoryExchange& exchange) {
      unsigned seed = 0;
      // Sizes around the borders of chunks and slots, and around the largest size of one meeting.
      for (const std::size_t elements : {1, 2, 3, 4, 5, 7, 16, 17, 100, 2047, 2048, 2049, 4096,
                                         16384, 16385, 32768, 32769, 100003, 300000}) {
        std::vector<float> data = random_floats(elements, exchange.rank(), ++seed);
        exchange.all_reduce(data.data(), elements, kSum, kLong);
        ASSERT_EQ(data, expected_sum(elements, ranks, seed)) << elements << " on " << ranks;
      }
    });
  }
}

// Computes this rank's part of a reduce-scatter in the order of ring_chunks.h.
std::vector<float> expected_part(std::size_t elements, int rank, int ranks, unsigned seed) {
  const std::size_t first = static_cast<std::size_t>(rank) * elements;
  std::vector<std::vector<float>> all;
  for (int peer = 0; peer < ranks; ++peer) {
    all.push_back(random_floats(elements * static_cast<std::size_t>(ranks), peer, seed));
  }
  std::vector<float> sum(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    sum[i] = all[(rank + ranks - 1) % ranks][first + i];
    for (int step = ranks - 2; step >= 0; --step) {
      sum[i] = all[(rank + step) % ranks][first + i] + sum[i];
    }
  }
  return sum;
}

// Sizes around the borders of the slots' pieces, into other memory and into the input itself.
TEST(SharedMemoryExchangeTest, ScattersSumsInTheOrderOfTheRing) {
  for (const int ranks : {2, 3, 5}) {
    on_forks(ranks, [&](SharedMemoryExchange& exchange) {
      unsigned seed = 0;
      for (const std::size_t elements : {1, 2, 15, 16, 17, 400, 512, 1023, 1024, 1025, 30000}) {
        const auto rank = static_cast<std::size_t>(exchange.rank());
        std::vector<float> data =
            random_floats(elements * static_cast<std::size_t>(ranks), exchange.rank(), ++seed);
        const std::vector<float> expected = expected_part(elements, exchange.rank(), ranks, seed);
        std::vector<float> out(elements);
        exchange.reduce_scatter(data.data(), out.data(), elements, kSum, kLong);
        ASSERT_EQ(out, expected) << elements << " on " << ranks;
        float* part = data.data() + rank * elements;
        exchange.reduce_scatter(data.data(), part, elements, kSum, kLong);
        ASSERT_EQ(std::vector<float>(part, part + elements), expected) << "in place";
      }
    });
  }
}

// Rank 1 arrives after rank 0 has stopped waiting, and rank 0 continues on another thread. Rank
// 0 stops in the first round of the call, or, after a broadcast, before this round, because rank 1
// has not begun the broadcast's round yet.
TEST(SharedMemoryExchangeTest, AnAllReduceContinuesWhereItStopped) {
  auto* turn = static_cast<std::atomic<int>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  on_forks(2, [&](SharedMemoryExchange& exchange) {
    int turns = 0;
    for (const bool after_broadcast : {false, true}) {
      for (const std::size_t elements : {100, 100003}) {
        const auto seed = static_cast<unsigned>(++turns);
        std::vector<float> data = random_floats(elements, exchange.rank(), seed);
        float word = 0;
        if (exchange.rank() == 0) {
          if (after_broadcast) exchange.broadcast(&word, sizeof word, 0, kLong);
          EXPECT_FALSE(
              exchange.try_all_reduce(data.data(), elements, kSum, kLong, milliseconds(1)));
          *turn = turns;
          std::thread([&] { exchange.finish_all_reduce(data.data(), elements, kSum); }).join();
        } else {
          while (*turn != turns) usleep(100);
          if (after_broadcast) exchange.broadcast(&word, sizeof word, 0, kLong);
          EXPECT_TRUE(exchange.try_all_reduce(data.data(), elements, kSum, kLong, kLong));
        }
        EXPECT_EQ(data, expected_sum(elements, 2, seed)) << elements << ' ' << after_broadcast;
      }
    }
  });
  munmap(turn, 4096);
}

TEST(SharedMemoryExchangeTest, CopiesFromTheRoot) {
  on_forks(3, [](SharedMemoryExchange& exchange) {
    for (const std::size_t elements : {1u, 2048u, 2049u, 20000u}) {
      for (int root = 0; root < 3; ++root) {
        std::vector<float> data = random_floats(elements, exchange.rank(), 7);
        exchange.broadcast(data.data(), 4 * elements, root, kLong);
        ASSERT_EQ(data, random_floats(elements, root, 7));
        std::vector<std::vector<float>> parts;
        std::vector<const void*> slices;
        for (int rank = 0; exchange.rank() == root && rank < 3; ++rank) {
          parts.push_back(random_floats(elements, rank, 8));
        }
        for (const auto& part : parts) slices.push_back(part.data());
        exchange.scatter(slices, data.data(), 4 * elements, root, kLong);
        ASSERT_EQ(data, random_floats(elements, exchange.rank(), 8));
      }
    }
  });
}

TEST(SharedMemoryExchangeTest, GathersInRankOrder) {
  on_forks(3, [](SharedMemoryExchange& exchange) {
    for (const std::size_t elements : {1u, 2048u, 2049u, 20000u}) {
      const std::vector<float> mine = random_floats(elements, exchange.rank(), 9);
      std::vector<std::vector<float>> all(3, std::vector<float>(elements));
      exchange.all_gather(mine.data(), {all[0].data(), all[1].data(), all[2].data()}, 4 * elements,
                          kLong);
      for (int rank = 0; rank < 3; ++rank) ASSERT_EQ(all[rank], random_floats(elements, rank, 9));
    }
  });
}

// Makes calls of every kind in a random order. There are more ranks than cores on most machines,
// and they sleep at random, so that a slot which is overwritten too early or read too late shows up
// as wrong data.
TEST(SharedMemoryExchangeTest, RoundsOfAllKindsDoNotMix) {
  constexpr int kRanks = 5;
  on_forks(kRanks, [](SharedMemoryExchange& exchange) {
    std::mt19937 same(1), own(static_cast<unsigned>(exchange.rank()));
    for (unsigned call = 0; call < 400; ++call) {
      const std::size_t elements = 1 + same() % 6000;
      const int root = static_cast<int>(same() % kRanks);
      const unsigned kind = same() % 4;
      if (own() % 8 == 0) usleep(own() % 300);
      std::vector<float> data = random_floats(elements, exchange.rank(), call);
      if (kind == 0) {
        exchange.all_reduce(data.data(), elements, kSum, kLong);
        ASSERT_EQ(data, expected_sum(elements, kRanks, call));
      } else if (kind == 1) {
        exchange.broadcast(data.data(), 4 * elements, root, kLong);
        ASSERT_EQ(data, random_floats(elements, root, call));
      } else if (kind == 2) {
        std::vector<float> all(kRanks * elements);
        std::vector<void*> outs;
        for (int rank = 0; rank < kRanks; ++rank) outs.push_back(all.data() + rank * elements);
        exchange.all_gather(data.data(), outs, 4 * elements, kLong);
        const std::vector<float> theirs(all.begin() + root * elements,
                                        all.begin() + (root + 1) * elements);
        ASSERT_EQ(theirs, random_floats(elements, root, call));
      } else {
        exchange.barrier(kLong);
      }
    }
  });
}

TEST(SharedMemoryExchangeTest, NamesARankThatDies) {
  for (const int dying : {1, 2}) {
    on_forks(
        3,
        [&](SharedMemoryExchange& exchange) {
          exchange.barrier(kLong);
          if (exchange.rank() == dying) return;
          const auto begin = Clock::now();
          const std::string error = error_of<CommunicationError>([&] { exchange.barrier(kLong); });
          EXPECT_THAT(error, HasSubstr("barrier (call 2): rank " + std::to_string(dying) +
                                       " is gone: its process has ended"));
          EXPECT_LT(Clock::now() - begin, kLong / 2) << "it is not waited for";
          EXPECT_THAT(error_of<CommunicationError>([&] { exchange.barrier(kLong); }),
                      HasSubstr("an earlier call failed"));
        },
        dying);
  }
}

TEST(SharedMemoryExchangeTest, NamesARankThatHasLeft) {
  on_forks(2, [](SharedMemoryExchange& exchange) {
    exchange.barrier(kLong);
    if (exchange.rank() == 1) return;
    EXPECT_THAT(error_of<CommunicationError>([&] { exchange.barrier(kLong); }),
                HasSubstr("rank 1 has left the world"));
  });
}

TEST(SharedMemoryExchangeTest, NamesRanksThatDoNotComeInTime) {
  int gone_by[2];
  ASSERT_EQ(pipe(gone_by), 0);
  on_forks(3, [&](SharedMemoryExchange& exchange) {
    float value = 1;
    exchange.barrier(kLong);
    if (exchange.rank() == 0) {
      EXPECT_THAT(error_of<CommunicationError>(
                      [&] { exchange.all_reduce(&value, 1, kSum, milliseconds(200)); }),
                  HasSubstr("all_reduce of 4 bytes (call 2): rank 1, rank 2 did not take part "
                            "within 200 ms"));
      EXPECT_EQ(write(gone_by[1], "..", 2), 2);
    } else {
      // The data that rank 0 published before it gave up is valid, so the all-reduce may succeed.
      // Rank 0 never takes part in the barrier.
      char byte = 0;
      EXPECT_EQ(read(gone_by[0], &byte, 1), 1);
      EXPECT_THAT(error_of<CommunicationError>([&] {
                    exchange.all_reduce(&value, 1, kSum, kLong);
                    exchange.barrier(kLong);
                  }),
                  HasSubstr("rank 0 gave up after an error"));
    }
  });
  close(gone_by[0]);
  close(gone_by[1]);
}

TEST(SharedMemoryExchangeTest, NamesARankInAnotherCall) {
  on_forks(2, [](SharedMemoryExchange& exchange) {
    float values[2] = {1, 2};
    const std::size_t elements = exchange.rank() == 0 ? 1 : 2;
    EXPECT_THAT(
        error_of<CommunicationError>([&] { exchange.all_reduce(values, elements, kSum, kLong); }),
        exchange.rank() == 0 ? HasSubstr("rank 1 is in another call: all_reduce of 8 bytes")
                             : HasSubstr("rank 0 is in another call: all_reduce of 4 bytes"));
  });
}

// Each rank is the root of its own broadcast, and a root does not wait for its peers.
TEST(SharedMemoryExchangeTest, RootsThatDifferAreSeenInTheNextCall) {
  on_forks(2, [](SharedMemoryExchange& exchange) {
    int value = 7;
    exchange.broadcast(&value, sizeof value, exchange.rank(), kLong);
    const std::string mine = std::to_string(exchange.rank());
    const std::string other = std::to_string(1 - exchange.rank());
    EXPECT_THAT(
        error_of<CommunicationError>([&] { exchange.barrier(kLong); }),
        HasSubstr("in the call before, rank " + other + " was in broadcast of 4 bytes from rank " +
                  other + ", and this rank in broadcast of 4 bytes from rank " + mine));
  });
}

TEST(SharedMemoryExchangeTest, AbortEndsTheCallsOfAll) {
  on_forks(2, [](SharedMemoryExchange& exchange) {
    exchange.barrier(kLong);
    if (exchange.rank() == 0) exchange.abort();
    EXPECT_THAT(error_of<CommunicationError>(
                    [&] { exchange.broadcast(nullptr, 0, 0, kLong), exchange.barrier(kLong); }),
                exchange.rank() == 0 ? HasSubstr("it was aborted") : HasSubstr("rank 0"));
  });
}

}  // namespace
}  // namespace accel::runtime
