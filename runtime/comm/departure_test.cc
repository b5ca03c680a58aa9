#include "runtime/comm/departure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace accel {
namespace {

using ::testing::Each;

constexpr std::chrono::hours kLong{1};

struct Board {
  DepartureBoard operator()() {
    return {.count =
                [this](const std::string& key) {
                  const std::lock_guard lock(mutex);
                  return ++counts[key];
                },
            .mark =
                [this](const std::string& key) {
                  const std::lock_guard lock(mutex);
                  counts[key] = 1;
                },
            .is_marked =
                [this](const std::string& key) {
                  const std::lock_guard lock(mutex);
                  return counts[key] != 0;
                }};
  }
  std::mutex mutex;
  std::map<std::string, std::int64_t> counts;
};

std::vector<int> departures(Board& board, int ranks, int size) {
  std::vector<int> together(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (int& result : together) {
    threads.emplace_back([&] { result = depart_together(board(), size, kLong); });
  }
  threads.clear();
  return together;
}

TEST(DepartureTest, AllRanksLeaveTogether) {
  Board board;
  EXPECT_THAT(departures(board, 4, 4), Each(1));
}

TEST(DepartureTest, NobodyWaitsForARankThatHasLeftAlone) {
  Board board;
  std::jthread failing([&] { depart_alone(board()); });
  EXPECT_THAT(departures(board, 3, 4), Each(0));
}

TEST(DepartureTest, ARankThatDoesNotComeIsNotWaitedForForever) {
  Board board;
  EXPECT_FALSE(depart_together(board(), 2, std::chrono::milliseconds(20)));
}

TEST(DepartureTest, WithoutABoardEachLeavesAlone) {
  const auto gone = [](const std::string&) -> bool { throw std::runtime_error("closed"); };
  const DepartureBoard board{.count = gone, .mark = gone, .is_marked = gone};
  EXPECT_FALSE(depart_together(board, 2, kLong));
  depart_alone(board);
}

}  // namespace
}  // namespace accel
