#include "runtime/comm/queued_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "accel/errors.h"
#include "runtime/testing/error_of.h"

namespace accel::runtime {
namespace {

using std::chrono::milliseconds;
using ::testing::StrEq;

// A device whose calls finish when `done` is set, which an abort does as well.
struct Device {
  std::atomic<bool> done = false, broken = false;
  std::atomic<int> let_go = 0;
  std::thread::id entered, freed;
  std::string error = "rank 1 has not called it";

  QueuedCalls::Done call() {
    return [this] { return done.load(); };
  }
  QueuedCalls::Link link() {
    return {.enter = [this] { entered = std::this_thread::get_id(); },
            .failure = [this] { return std::string(broken ? "the connection broke" : ""); },
            .give_up =
                [this](const NumberedCall& call, const std::string& reason) {
                  ++let_go;
                  freed = std::this_thread::get_id();
                  done = true;
                  return call.text + ": " + reason + ": " + error;
                }};
  }
};

const NumberedCall kCall{.number = 3, .text = "gather"};
constexpr QueuedCalls::Pace kLong{.limit = std::chrono::hours(1), .look_every = milliseconds(1)};
constexpr QueuedCalls::Pace kShort{.limit = milliseconds(20), .look_every = milliseconds(1)};

TEST(QueuedCallsTest, WaitsUntilTheDeviceIsDone) {
  Device device;
  QueuedCalls calls(device.link(), kLong);
  calls.add(kCall, device.call());
  calls.check();
  std::thread later([&] { device.done = true; });
  calls.wait_for_all();
  later.join();
  EXPECT_EQ(device.let_go, 0);
}

TEST(QueuedCallsTest, ACallThatExceedsItsLimitIsAnErrorForGood) {
  Device device;
  QueuedCalls calls(device.link(), kShort);
  calls.add(kCall, device.call());
  const std::string text =
      "gather: the GPU did not finish it within 20 ms: rank 1 has not called it";
  EXPECT_THAT(error_of<CommunicationError>([&] { calls.wait_for_all(); }), StrEq(text));
  // All later calls fail, because they would use data that never arrived.
  EXPECT_THAT(error_of<CommunicationError>([&] { calls.check(); }), StrEq(text));
  EXPECT_THAT(error_of<CommunicationError>([&] { calls.wait_for_all(); }), StrEq(text));
  EXPECT_EQ(device.let_go, 1);
}

// Later calls may be queued behind the one that failed, and on some ranks more than on others.
TEST(QueuedCallsTest, TheErrorNamesTheOldestUnfinishedCall) {
  Device device;
  QueuedCalls calls(device.link(), kShort);
  calls.add({.number = 1, .text = "reduce"}, [] { return true; });
  calls.add({.number = 2, .text = "backward"}, device.call());
  calls.add(kCall, device.call());
  EXPECT_THAT(error_of<CommunicationError>([&] { calls.wait_for_all(); }),
              StrEq("backward: the GPU did not finish it within 20 ms: rank 1 has not called it"));
}

// A program may wait for the device by itself, rather than in a method of QueuedCalls.
TEST(QueuedCallsTest, TheDeviceIsFreedEvenIfNoThreadWaitsForIt) {
  Device device;
  QueuedCalls calls(device.link(), kShort);
  calls.add(kCall, device.call());
  while (!device.done) std::this_thread::yield();
  EXPECT_THROW(calls.check(), CommunicationError);
  EXPECT_EQ(device.freed, device.entered);
}

TEST(QueuedCallsTest, ABrokenConnectionIsNotWaitedFor) {
  Device device;
  QueuedCalls calls(device.link(), kLong);
  calls.add(kCall, device.call());
  device.broken = true;
  EXPECT_THAT(error_of<CommunicationError>([&] { calls.wait_for_all(); }),
              StrEq("gather: the connection broke: rank 1 has not called it"));
}

TEST(QueuedCallsTest, ABrokenConnectionIsIgnoredWhileNothingIsQueued) {
  Device device;
  device.done = device.broken = true;
  QueuedCalls calls(device.link(), kShort);
  calls.add(kCall, device.call());
  calls.wait_for_all();
  calls.check();
  EXPECT_EQ(device.let_go, 0);
}

// The next use of the device throws the error.
TEST(QueuedCallsTest, AnErrorOfTheDeviceIsNoErrorOfTheCommunication) {
  Device device;
  QueuedCalls calls(device.link(), kLong);
  calls.add(kCall, []() -> bool { throw std::out_of_range("an assertion failed"); });
  calls.wait_for_all();
  calls.check();
}

}  // namespace
}  // namespace accel::runtime
