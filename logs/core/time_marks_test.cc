#include "logs/core/time_marks.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace accel::logs {
namespace {

constexpr int64_t kHour = 3'600'000;

TEST(TimeMarksTest, FindsTheFirstByteThatWasWrittenSince) {
  TimeMarks marks;
  marks.Note(0, 1000, 0);
  marks.Note(10, 1500, 0);    // Too soon for a mark of its own.
  marks.Note(20, 61'000, 0);  // After a pause of a minute.
  marks.Note(30, 121'000, 0);
  EXPECT_EQ(marks.marks().size(), 3u);
  EXPECT_EQ(OffsetSince(marks.marks(), 0, 40), 0);
  EXPECT_EQ(OffsetSince(marks.marks(), 1400, 40), 0) << "the byte at 10 was written at 1500";
  EXPECT_EQ(OffsetSince(marks.marks(), 1600, 40), 20);
  EXPECT_EQ(OffsetSince(marks.marks(), 61'000, 40), 20);
  EXPECT_EQ(OffsetSince(marks.marks(), 61'001, 40), 30);
  EXPECT_EQ(OffsetSince(marks.marks(), 121'000, 40), 30);
  EXPECT_EQ(OffsetSince(marks.marks(), 200'000, 40), 40) << "all of it is older";
}

TEST(TimeMarksTest, WithoutMarksEverythingMayBeNew) { EXPECT_EQ(OffsetSince({}, 1, 40), 0); }

// Weeks of output have a bounded number of marks. The newer the output, the more precise they are,
// and no output is ever taken for older than it is.
TEST(TimeMarksTest, ThinsOutThePastAndLosesNothing) {
  TimeMarks marks;
  constexpr int64_t kEnd = 21 * 24 * kHour;
  for (int64_t now = 0; now < kEnd; now += 1000) {
    marks.Note(now, now, 0);  // One byte each millisecond.
    ASSERT_LE(marks.marks().size(), TimeMarks::kMaxMarks);
  }
  for (int64_t age = 2000; age < kEnd; age *= 2) {
    const int64_t start = OffsetSince(marks.marks(), kEnd - age, kEnd);
    EXPECT_LE(start, kEnd - age);
    EXPECT_GE(start, kEnd - age - age / 50 - 2000) << "for the last " << age << " ms";
  }
  EXPECT_EQ(marks.marks().front().offset, 0);
}

TEST(TimeMarksTest, TheTextFormSkipsWhatIsDamaged) {
  const std::string text =
      absl::StrCat(TimesHeader("b-1"), TimesLine({0, 1, 2, 3}), "x\n1 2 3\n",
                   TimesLine({50, 4, 5, 6}), TimesLine({40, 7, 8, 9}), "60 7 8 99");
  const Times times = ParseTimes(text);
  EXPECT_EQ(times.boot_id, "b-1");
  ASSERT_EQ(times.marks.size(), 2u);
  EXPECT_EQ(times.marks[1].offset, 50);
  EXPECT_EQ(times.marks[1].before_ms, 4);
  EXPECT_EQ(times.marks[1].made_ms, 5);
  EXPECT_EQ(times.marks[1].wall_ms, 6);
  EXPECT_TRUE(ParseTimes("").marks.empty());
}

// Output of an earlier boot has only the wall clock, which was an hour ahead for a while.
TEST(TimeMarksTest, AWallClockThatJumpedBackHidesNothing) {
  TimeMarks marks;
  marks.Note(0, 0, 10 * kHour);
  marks.Note(10, 60'000, 10 * kHour + 60'000);
  marks.Note(20, 120'000, 9 * kHour + 120'000);
  marks.Note(30, 180'000, 9 * kHour + 180'000);
  const auto wall = InWallTime(marks.marks());
  // Since before the jump: what was written after it must be shown too.
  EXPECT_EQ(OffsetSince(wall, 9 * kHour + 150'000, 40), 0);
  EXPECT_EQ(OffsetSince(wall, 10 * kHour + 30'000, 40), 10);
  EXPECT_EQ(OffsetSince(wall, 11 * kHour, 40), 40);
}

}  // namespace
}  // namespace accel::logs
