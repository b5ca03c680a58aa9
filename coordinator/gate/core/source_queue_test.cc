#include "coordinator/gate/core/source_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace accel::coordinator {
namespace {

bool Any(const std::string&) { return true; }

std::vector<uint64_t> TakeAll(SourceQueue* queue) {
  std::vector<uint64_t> taken;
  while (const auto id = queue->Take(Any)) taken.push_back(*id);
  return taken;
}

TEST(SourceQueueTest, EachSourceInTurnGivesItsOldest) {
  SourceQueue queue;
  for (const uint64_t id : {1, 2, 3, 4}) queue.Push("greedy", id);
  queue.Push("modest", 5);
  queue.Push("other", 6);
  EXPECT_EQ(TakeAll(&queue), (std::vector<uint64_t>{1, 5, 6, 2, 3, 4}));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(SourceQueueTest, ASourceThatMayNotIsSkippedAndKeepsItsConnections) {
  SourceQueue queue;
  queue.Push("a", 1);
  queue.Push("b", 2);
  const auto only_b = [](const std::string& source) { return source == "b"; };
  EXPECT_EQ(queue.Take(only_b), 2);
  EXPECT_EQ(queue.Take(only_b), std::nullopt);
  EXPECT_EQ(queue.Take(Any), 1);
}

TEST(SourceQueueTest, NamesTheNewestOfTheGreediest) {
  SourceQueue queue;
  EXPECT_EQ(queue.NewestOfGreediest(), std::nullopt);
  queue.Push("a", 1);
  queue.Push("b", 2);
  queue.Push("b", 3);
  queue.Push("a", 4);
  queue.Push("a", 5);
  EXPECT_EQ(queue.NewestOfGreediest(), 5);
  queue.Remove("a", 5);
  queue.Remove("a", 5);
  queue.Remove("a", 4);
  EXPECT_EQ(queue.NewestOfGreediest(), 3);
  EXPECT_EQ(queue.size(), 3u);
}

TEST(SourceQueueTest, AmongEquallyGreedyTheOneThatHasWaitedLongest) {
  SourceQueue queue;
  queue.Push("m", 1);
  queue.Push("z", 2);
  queue.Push("a", 3);
  EXPECT_EQ(queue.NewestOfGreediest(), 1);
  queue.Remove("m", 1);
  EXPECT_EQ(queue.NewestOfGreediest(), 2);
}

}  // namespace
}  // namespace accel::coordinator
