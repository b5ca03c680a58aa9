#include "agent/output_limit.h"

#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel::agent {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(OutputLimitTest, IsASizeOrAShareOfTheDisk) {
  EXPECT_EQ(*ParseOutputLimit("20GiB", 1), 20 * kGiB);
  EXPECT_EQ(*ParseOutputLimit("500MB", 1), 500'000'000);
  EXPECT_EQ(*ParseOutputLimit("1.5TiB", 1), 1536 * kGiB);
  EXPECT_EQ(*ParseOutputLimit("5%", 200 * kGiB), 10 * kGiB);
}

TEST(OutputLimitTest, TheDefaultIsBounded) {
  EXPECT_EQ(*ParseOutputLimit(kDefaultOutputLimit, 200 * kGiB), 20 * kGiB);
  EXPECT_EQ(*ParseOutputLimit(kDefaultOutputLimit, 100'000 * kGiB), kMaxDefaultOutput);
  EXPECT_EQ(*ParseOutputLimit(kDefaultOutputLimit, kGiB / 1024), kGiB / 16);
}

TEST(OutputLimitTest, WhatIsNoLimitIsRefused) {
  for (const char* wrong :
       {"", "20", "GiB", "-1GiB", "nanGiB", "infGiB", "101%", "1MiB", "1e300TB"}) {
    EXPECT_THAT(ParseOutputLimit(wrong, kGiB),
                testing::StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("must")))
        << wrong;
  }
}

TEST(OutputLimitTest, ADiskHasASize) {
  EXPECT_GT(*DiskBytes("/"), 0);
  EXPECT_FALSE(DiskBytes("/no/such/folder").ok());
}

}  // namespace
}  // namespace accel::agent
