#include "common/port_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel::common {
namespace {

using ::testing::HasSubstr;

TEST(PortRange, IsTwoPortsWithADash) {
  ASSERT_OK_AND_ASSIGN(const PortRange range, ParsePortRange("29500-29599"));
  EXPECT_EQ(range.first, 29500);
  EXPECT_EQ(range.last, 29599);
  EXPECT_EQ(range.size(), 100);
  EXPECT_FALSE(range.is_any());
  EXPECT_EQ(range.text(), "29500-29599");
  ASSERT_OK_AND_ASSIGN(const PortRange one, ParsePortRange("7-7"));
  EXPECT_EQ(one.size(), 1);
}

TEST(PortRange, NoTextIsAnyPort) {
  ASSERT_OK_AND_ASSIGN(const PortRange range, ParsePortRange(""));
  EXPECT_TRUE(range.is_any());
}

TEST(PortRange, OtherTextIsRefusedWithAnExample) {
  for (const char* text : {"29500", "0-5", "5-4", "1-65536", "a-b", "-5-9", "5-", "-", "1-2-3"}) {
    EXPECT_THAT(ParsePortRange(text), accel::testing::StatusIs(absl::StatusCode::kInvalidArgument,
                                                               HasSubstr("FIRST-LAST, such as")))
        << text;
  }
}

}  // namespace
}  // namespace accel::common
