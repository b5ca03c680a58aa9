#include "common/wakeup.h"

#include <gtest/gtest.h>

#include <thread>

#include "common/clock.h"

namespace accel::common {
namespace {

// An infinite wait or a lost notification would hang. Reaching this long bound is the failure.
constexpr absl::Duration kLong = absl::Minutes(2);

absl::Duration TimeOf(Wakeup* wakeup, absl::Duration timeout) {
  const absl::Time begin = SteadyClock()->Now();
  wakeup->WaitFor(timeout);
  return SteadyClock()->Now() - begin;
}

TEST(Wakeup, ANotificationBeforeTheWaitIsNotLostAndEndsOneWait) {
  Wakeup wakeup;
  wakeup.Notify();
  wakeup.Notify();
  EXPECT_LT(TimeOf(&wakeup, kLong), kLong);
  EXPECT_GE(TimeOf(&wakeup, absl::Milliseconds(20)), absl::Milliseconds(20));
}

TEST(Wakeup, ANotificationEndsTheWait) {
  Wakeup wakeup;
  std::thread other([&wakeup] { wakeup.Notify(); });
  EXPECT_LT(TimeOf(&wakeup, kLong), kLong);
  other.join();
}

TEST(Wakeup, TimeEndsTheWaitAndNotSooner) {
  Wakeup wakeup;
  EXPECT_GE(TimeOf(&wakeup, absl::Milliseconds(20)), absl::Milliseconds(20));
  EXPECT_LT(TimeOf(&wakeup, absl::ZeroDuration()), kLong);
  EXPECT_LT(TimeOf(&wakeup, -absl::InfiniteDuration()), kLong);
}

}  // namespace
}  // namespace accel::common
