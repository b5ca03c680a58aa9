#include "security/renewal_time.h"

#include <gtest/gtest.h>

namespace accel::security {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);

TEST(RenewalTime, IsAThirdOfTheLifeAndALittleJitter) {
  const absl::Time start = absl::FromUnixSeconds(1'800'000'000);
  const struct {
    absl::Duration life;
    double jitter;
    absl::Duration age;
  } cases[] = {
      {90 * kDay, 0, 30 * kDay},
      {90 * kDay, 1, 39 * kDay},
      {90 * kDay, 0.5, 34.5 * kDay},
      {360 * kDay, 0, 120 * kDay},
      {360 * kDay, 1, 156 * kDay},
      // A number out of range has no effect beyond it.
      {360 * kDay, 7, 156 * kDay},
      {360 * kDay, -1, 120 * kDay},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(RenewalTime(start, start + each.life, each.jitter) - start, each.age)
        << each.life << " " << each.jitter;
  }
}

TEST(SwitchTime, IsAfterEachRenewal) {
  const absl::Time start = absl::FromUnixSeconds(1'800'000'000);
  const absl::Time end = start + 90 * kDay;
  EXPECT_EQ(SwitchTime(start, end) - start, 60 * kDay);
  EXPECT_LT(RenewalTime(start, end, 1), SwitchTime(start, end));
}

}  // namespace
}  // namespace accel::security
