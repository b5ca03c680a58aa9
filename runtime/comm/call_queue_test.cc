#include "runtime/comm/call_queue.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

namespace accel::runtime {
namespace {

const auto nothing = [] {};

// A call that signals when it begins, and then runs until `let_go` is set.
struct HeldCall {
  std::promise<void> begun, let_go;
  std::function<void()> body() {
    return [this] {
      begun.set_value();
      let_go.get_future().wait();
    };
  }
};

TEST(CallQueueTest, AddingDoesNotWaitForTheCall) {
  HeldCall held;
  CallQueue queue;
  std::promise<std::thread::id> reported;
  queue.add(held.body(), [&] { reported.set_value(std::this_thread::get_id()); });
  held.begun.get_future().wait();
  held.let_go.set_value();
  EXPECT_NE(reported.get_future().get(), std::this_thread::get_id());
}

TEST(CallQueueTest, CallsRunInOrderAndNoneOvertakes) {
  std::vector<int> order;
  HeldCall held;
  {
    CallQueue queue;
    queue.add(held.body(), nothing);
    for (int i = 0; i < 100; ++i) queue.add([&order, i] { order.push_back(i); }, nothing);
    held.begun.get_future().wait();
    EXPECT_FALSE(queue.try_begin());
    held.let_go.set_value();
  }
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST(CallQueueTest, ACallAddedDuringOneOnTheCallersThreadWaitsForIt) {
  bool ended = false;
  std::promise<bool> seen;
  CallQueue queue;
  ASSERT_TRUE(queue.try_begin());
  EXPECT_FALSE(queue.try_begin());
  queue.add([&] { seen.set_value(ended); }, nothing);
  ended = true;
  queue.end();
  EXPECT_TRUE(seen.get_future().get());
}

TEST(CallQueueTest, ACallThatContinuesOnTheThreadKeepsItsTurn) {
  std::vector<int> order;
  std::promise<void> last;
  CallQueue queue;
  ASSERT_TRUE(queue.try_begin());
  queue.add([&] { order.push_back(2); }, [&] { last.set_value(); });
  queue.continue_on_thread([&] { order.push_back(1); }, nothing);
  last.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_TRUE(queue.try_begin());
  queue.end();
}

TEST(CallQueueTest, TheQueueIsIdleWhenACallIsReported) {
  CallQueue queue;
  for (int i = 0; i < 200; ++i) {
    std::promise<void> over;
    queue.add(nothing, [&] { over.set_value(); });
    over.get_future().wait();
    ASSERT_TRUE(queue.try_begin());
    queue.end();
  }
}

TEST(CallQueueTest, ACallsFunctionsAreDestroyedWhenItEnds) {
  CallQueue queue;
  const auto held = std::make_shared<int>();
  std::promise<void> next;
  queue.add([held] {}, [held] {});
  queue.add([&] { next.set_value(); }, nothing);
  next.get_future().wait();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace accel::runtime
