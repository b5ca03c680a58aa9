#include "cli/render/times.h"

#include <gtest/gtest.h>

#include <utility>

namespace accel::cli {
namespace {

TEST(DurationText, TwoUnitsAtMost) {
  const std::pair<absl::Duration, const char*> kCases[] = {
      {absl::Seconds(-1), "0 s"},         {absl::ZeroDuration(), "0 s"},
      {absl::Milliseconds(440), "0.4 s"}, {absl::Seconds(12.9), "12 s"},
      {absl::Seconds(60), "1 min"},       {absl::Seconds(185), "3 min 5 s"},
      {absl::Minutes(125), "2 h 5 min"},  {absl::Hours(48), "2 d"},
      {absl::Hours(76), "3 d 4 h"},
  };
  for (const auto& [duration, text] : kCases) EXPECT_EQ(DurationText(duration), text);
}

TEST(AgoText, TheLargestUnit) {
  const absl::Time now = absl::FromUnixSeconds(1'000'000);
  const std::pair<absl::Duration, const char*> kCases[] = {
      {absl::Seconds(-50), "just now"}, {absl::Milliseconds(900), "just now"},
      {absl::Seconds(59), "59 s ago"},  {absl::Seconds(119), "1 min ago"},
      {absl::Minutes(119), "1 h ago"},  {absl::Hours(50), "2 d ago"},
  };
  for (const auto& [age, text] : kCases) EXPECT_EQ(AgoText(now - age, now), text);
}

TEST(BytesText, InPowersOf1024) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(int64_t{2} << 30), "2.0 GiB");
  EXPECT_EQ(BytesText(int64_t{3} << 51), "6144.0 TiB");
}

}  // namespace
}  // namespace accel::cli
