#include "runtime/data/read_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

namespace accel::runtime {
namespace {

using Numbers = ReadAhead<int, int>;

// Returns the jobs 0, 1, ... size - 1.
Numbers::JobSource up_to(int size) {
  return [size, at = 0]() mutable -> std::optional<int> {
    return at < size ? std::optional(at++) : std::nullopt;
  };
}

std::vector<Numbers::Work> times(std::size_t threads, const Numbers::Work& work) {
  return std::vector<Numbers::Work>(threads, work);
}

TEST(ReadAheadTest, ResultsComeInTheOrderOfTheirJobs) {
  for (const std::size_t threads : {1, 2, 3, 8}) {
    for (const std::size_t capacity : {1, 2, 5, 16}) {
      Numbers numbers(up_to(300),
                      times(threads,
                            [](int job) {
                              // Some jobs take longer, so that later ones overtake them.
                              for (int i = 0; i < job % 7; ++i) std::this_thread::yield();
                              return 3 * job;
                            }),
                      capacity);
      for (int i = 0; i < 300; ++i) ASSERT_EQ(numbers.next(), 3 * i);
      EXPECT_FALSE(numbers.next());
      EXPECT_FALSE(numbers.next()) << "the end is final";
    }
  }
}

TEST(ReadAheadTest, WithoutJobsReturnsTheEnd) {
  Numbers numbers(up_to(0), times(2, [](int job) { return job; }), 4);
  EXPECT_FALSE(numbers.next());
}

TEST(ReadAheadTest, NeverTakesMoreJobsThanItsCapacity) {
  std::atomic<int> drawn = 0;
  std::promise<void> full;
  Numbers numbers(
      [&]() -> std::optional<int> {
        if (++drawn == 3) full.set_value();
        return drawn;
      },
      times(4, [](int job) { return job; }), 3);
  full.get_future().wait();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LE(drawn, i + 3);
    EXPECT_EQ(numbers.next(), i + 1);
  }
}

TEST(ReadAheadTest, AnExceptionIsThrownInPlaceOfItsResult) {
  Numbers numbers(up_to(6),
                  times(3,
                        [](int job) {
                          if (job == 3) throw std::out_of_range("sample 3");
                          return job;
                        }),
                  6);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(numbers.next(), i);
  EXPECT_THROW(numbers.next(), std::out_of_range);
  EXPECT_EQ(numbers.next(), 4);
  EXPECT_EQ(numbers.next(), 5);
  EXPECT_FALSE(numbers.next());
}

TEST(ReadAheadTest, AnExceptionOfTheSourceIsTheLastResult) {
  for (const std::size_t threads : {1, 3}) {
    Numbers numbers(
        [at = 0]() mutable -> std::optional<int> {
          if (at == 4) throw std::domain_error("the sampler broke");
          return at++;
        },
        times(threads, [](int job) { return job; }), 2);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(numbers.next(), i);
    EXPECT_THROW(numbers.next(), std::domain_error);
    EXPECT_FALSE(numbers.next());
  }
}

TEST(ReadAheadTest, EndsItsThreadsWhereverItIsLeft) {
  for (const int taken : {0, 1, 2, 3, 4, 5, 11, 40}) {
    std::atomic<int> working = 0;
    {
      Numbers numbers(up_to(1'000'000),
                      times(3,
                            [&](int job) {
                              ++working;
                              std::this_thread::yield();
                              --working;
                              return job;
                            }),
                      4);
      for (int i = 0; i < taken; ++i) EXPECT_EQ(numbers.next(), i);
    }
    EXPECT_EQ(working, 0);
  }
}

TEST(ReadAheadTest, WaitsNoLongerThanTheTimeout) {
  std::promise<void> go_on;
  ReadAhead<int, std::unique_ptr<int>> numbers(up_to(1),
                                               {[open = go_on.get_future().share()](int job) {
                                                 open.wait();
                                                 return std::make_unique<int>(job);
                                               }},
                                               1, std::chrono::milliseconds(1));
  EXPECT_THROW(numbers.next(), std::runtime_error);
  go_on.set_value();
  std::optional<std::unique_ptr<int>> late;
  while (!late) {
    try {
      late = numbers.next();
    } catch (const std::runtime_error&) {
    }
  }
  EXPECT_EQ(**late, 0);
}

TEST(ReadAheadTest, SaysThatItWaitsForWhatWasTooLate) {
  for (const bool in_time : {false, true}) {
    testing::internal::CaptureStderr();
    {
      std::promise<void> go_on;
      Numbers numbers(up_to(1), {[open = go_on.get_future().share()](int job) {
                        open.wait();
                        return job;
                      }},
                      1, std::chrono::milliseconds(in_time ? 600'000 : 1));
      if (in_time) go_on.set_value();
      if (in_time) {
        EXPECT_EQ(numbers.next(), 0);
      }
      if (!in_time) {
        EXPECT_THROW(numbers.next(), std::runtime_error);
      }
      if (!in_time) go_on.set_value();
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("DataLoaderOptions::timeout (1 ms)") == std::string::npos, in_time) << said;
  }
}

}  // namespace
}  // namespace accel::runtime
