#include "runtime/comm/departure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace accel::runtime {
namespace {

using ::testing::Each;

constexpr std::chrono::hours kLong{1};

struct FakeStore {
  DepartureStore operator()() {
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

std::vector<int> departures(FakeStore& store, int ranks, int size) {
  std::vector<int> together(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (int& result : together) {
    threads.emplace_back([&] { result = depart_together(store(), size, kLong); });
  }
  threads.clear();
  return together;
}

TEST(DepartureTest, AllRanksLeaveTogether) {
  FakeStore store;
  EXPECT_THAT(departures(store, 4, 4), Each(1));
}

TEST(DepartureTest, NoRankWaitsForARankThatHasLeftAlone) {
  FakeStore store;
  std::jthread failing([&] { depart_alone(store()); });
  EXPECT_THAT(departures(store, 3, 4), Each(0));
}

TEST(DepartureTest, ARankThatDoesNotComeIsNotWaitedForForever) {
  FakeStore store;
  EXPECT_FALSE(depart_together(store(), 2, std::chrono::milliseconds(20)));
  // The last rank arrives after the decision, and learns that the others have left.
  EXPECT_FALSE(depart_together(store(), 2, kLong));
}

TEST(DepartureTest, ARankThatTimesOutFollowsTheDecisionOfTheOthers) {
  FakeStore store;
  DepartureStore late = store();
  // The limit passes, and then the last rank arrives.
  late.await_decision = [&](std::chrono::milliseconds) {
    EXPECT_TRUE(depart_together(store(), 2, kLong));
  };
  EXPECT_TRUE(depart_together(late, 2, std::chrono::milliseconds(0)));
}

TEST(DepartureTest, IfTheStoreIsGoneEachRankLeavesAlone) {
  const auto gone = [](auto...) -> bool { throw std::runtime_error("closed"); };
  const DepartureStore store{.arrive = gone, .decide = gone, .await_decision = gone};
  EXPECT_FALSE(depart_together(store, 2, kLong));
  depart_alone(store);
}

}  // namespace
}  // namespace accel::runtime
