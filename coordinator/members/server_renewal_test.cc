#include "coordinator/members/server_renewal.h"

#include <gtest/gtest.h>

namespace accel::coordinator {
namespace {

TEST(IsServerRenewalDue, AfterHalfOfTheLifeAndWhenTheClockWasSetBack) {
  constexpr absl::Duration kDay = absl::Hours(24);
  const absl::Time made = absl::FromUnixSeconds(1'800'000'000);
  EXPECT_FALSE(IsServerRenewalDue(made, made));
  EXPECT_FALSE(IsServerRenewalDue(made, made + 29 * kDay));
  EXPECT_TRUE(IsServerRenewalDue(made, made + 30 * kDay));
  EXPECT_TRUE(IsServerRenewalDue(made, made + 365 * kDay));
  EXPECT_FALSE(IsServerRenewalDue(made, made - absl::Minutes(29)));
  EXPECT_TRUE(IsServerRenewalDue(made, made - absl::Minutes(31)));
  EXPECT_TRUE(IsServerRenewalDue(made, made - 365 * kDay));
}

}  // namespace
}  // namespace accel::coordinator
