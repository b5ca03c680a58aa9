#include "common/wakeup.h"

#include <gtest/gtest.h>

#include <thread>

namespace accel {
namespace {

TEST(Wakeup, ANotificationBeforeTheWaitIsNotLost) {
  Wakeup wakeup;
  wakeup.Notify();
  wakeup.WaitFor(absl::InfiniteDuration());
}

TEST(Wakeup, ANotificationEndsTheWait) {
  Wakeup wakeup;
  std::thread other([&wakeup] { wakeup.Notify(); });
  wakeup.WaitFor(absl::InfiniteDuration());
  other.join();
}

TEST(Wakeup, TimeEndsTheWait) {
  Wakeup wakeup;
  wakeup.WaitFor(absl::Milliseconds(1));
  wakeup.WaitFor(absl::ZeroDuration());
  wakeup.WaitFor(-absl::InfiniteDuration());
}

}  // namespace
}  // namespace accel
