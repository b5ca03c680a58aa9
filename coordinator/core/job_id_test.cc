#include "coordinator/core/job_id.h"

#include <gtest/gtest.h>

#include <string>

namespace accel::coordinator {
namespace {

TEST(JobId, IsShortAndNoNumber) {
  JobIdIssuer issuer;
  for (int64_t day = 0; day < 22 * 365; day += 97) {
    const std::string id =
        issuer.Next(absl::FromUnixSeconds(1735689600) + absl::Hours(24 * day)).value();
    EXPECT_EQ(id.size(), 8u);
    EXPECT_TRUE(id[0] >= 'a' && id[0] <= 'z') << id;
    EXPECT_EQ(id.find_first_of("ilou"), std::string::npos) << id;
  }
}

TEST(JobId, SortsByAgeEvenIfTheClockDoesNotMove) {
  JobIdIssuer issuer;
  const absl::Time wall = absl::FromUnixSeconds(1'800'000'000);
  common::JobId last = issuer.Next(wall);
  for (int i = 0; i < 2'000; ++i) {
    const common::JobId next = issuer.Next(wall - absl::Seconds(i));
    EXPECT_LT(last, next);
    last = next;
  }
}

TEST(JobId, IsNewAfterAMemoryLoss) {
  const absl::Time wall = absl::FromUnixSeconds(1'800'000'000);
  JobIdIssuer before, after;
  const common::JobId old = before.Next(wall);
  EXPECT_LT(old, after.Next(wall + absl::Milliseconds(2)));
}

TEST(JobId, SkipsWhatIsKnown) {
  const absl::Time wall = absl::FromUnixSeconds(1'800'000'000);
  JobIdIssuer ahead, behind;
  const common::JobId known = ahead.Next(wall + absl::Hours(1));
  behind.Skip(known);
  behind.Skip(common::JobId("not an id"));
  EXPECT_LT(known, behind.Next(wall));
}

}  // namespace
}  // namespace accel::coordinator
