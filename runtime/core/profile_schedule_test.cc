#include "runtime/core/profile_schedule.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace accel::runtime {
namespace {

std::string actions(const ProfileSchedule& schedule) {
  std::string text;
  for (std::int64_t step = 0; step < 12; ++step) {
    text += ".wrS"[static_cast<int>(action_at(schedule, step))];
  }
  return text;
}

// The expected texts are what torch.profiler.schedule() returns for the same arguments.
TEST(ProfileScheduleTest, MatchesPyTorchs) {
  EXPECT_EQ(actions({}), "SSSSSSSSSSSS");
  EXPECT_EQ(actions({.wait = 1, .warmup = 1, .active = 2}), ".wrS.wrS.wrS");
  EXPECT_EQ(actions({.wait = 1, .warmup = 1, .active = 2, .repeat = 2}), ".wrS.wrS....");
  EXPECT_EQ(actions({.wait = 2, .active = 1, .repeat = 1, .skip_first = 3}), ".....S......");
  EXPECT_EQ(actions({.warmup = 2, .active = 3, .repeat = 1}), "wwrrS.......");
  EXPECT_EQ(actions({.warmup = 1, .active = 1, .repeat = 3, .skip_first = 1}), ".wSwSwS.....");
}

TEST(ProfileScheduleTest, RefusesNumbersOutOfRange) {
  check_schedule({});
  for (const ProfileSchedule& wrong :
       {ProfileSchedule{.wait = -1}, ProfileSchedule{.warmup = -1}, ProfileSchedule{.active = 0},
        ProfileSchedule{.repeat = -1}, ProfileSchedule{.skip_first = -1}}) {
    EXPECT_THROW(check_schedule(wrong), std::invalid_argument);
  }
}

}  // namespace
}  // namespace accel::runtime
