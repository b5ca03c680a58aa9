#include "runtime/comm/departure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace accel {
namespace {

using ::testing::Each;

constexpr std::chrono::hours kLong{1};

struct Board {
  DepartureBoard operator()() {
    return {.arrive =
                [this] {
                  const std::lock_guard lock(mutex);
                  return ++arrived;
                },
            .decide =
                [this](bool together) {
                  const std::lock_guard lock(mutex);
                  if (!decision) decision = together;
                  decided.notify_all();
                  return *decision;
                },
            .await_decision =
                [this](std::chrono::milliseconds limit) {
                  std::unique_lock lock(mutex);
                  decided.wait_for(lock, limit, [this] { return decision.has_value(); });
                }};
  }
  std::mutex mutex;
  std::condition_variable decided;
  std::int64_t arrived = 0;
  std::optional<bool> decision;
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
  // It comes after all, and learns that the others have gone.
  EXPECT_FALSE(depart_together(board(), 2, kLong));
}

TEST(DepartureTest, ARankWhoseTimeIsOverGoesWithTheOthersIfTheyHaveDecidedSo) {
  Board board;
  DepartureBoard late = board();
  late.await_decision = [&](std::chrono::milliseconds) {  // Over, and then the last one comes.
    EXPECT_TRUE(depart_together(board(), 2, kLong));
  };
  EXPECT_TRUE(depart_together(late, 2, std::chrono::milliseconds(0)));
}

TEST(DepartureTest, WithoutABoardEachLeavesAlone) {
  const auto gone = [](auto...) -> bool { throw std::runtime_error("closed"); };
  const DepartureBoard board{.arrive = gone, .decide = gone, .await_decision = gone};
  EXPECT_FALSE(depart_together(board, 2, kLong));
  depart_alone(board);
}

}  // namespace
}  // namespace accel
