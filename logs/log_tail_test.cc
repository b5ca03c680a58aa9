#include "logs/log_tail.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "logs/log_test_folder.h"

namespace accel::logs {
namespace {

class LogTailTest : public LogTest {
 protected:
  int64_t Find(int64_t count, int64_t from = 0, const std::string& with = "") {
    return FindTail(
        rank_dir(), LogStream::kStdout, from, count,
        [&](absl::string_view line) { return absl::StrContains(line, with); },
        [&] { return looks_++ == stops_after_; });
  }

  int looks_ = 0;
  int stops_after_ = -1;  // Number of looks after which the search is given up, or -1.
};

TEST_F(LogTailTest, FindsTheLastLines) {
  WriteSegment(0, "one\ntwo\n\nthree\n");
  EXPECT_EQ(Find(0), 15);
  EXPECT_EQ(Find(1), 9);
  EXPECT_EQ(Find(2), 8);
  EXPECT_EQ(Find(3), 4);
  EXPECT_EQ(Find(4), 0);
  EXPECT_EQ(Find(5), 0);
  EXPECT_EQ(Find(1, 0, "w"), 4);
}

TEST_F(LogTailTest, ALineWithoutAnEndCounts) {
  WriteSegment(0, "one\ntwo");
  EXPECT_EQ(Find(1), 4);
}

TEST_F(LogTailTest, DoesNotLookBeforeTheStart) {
  WriteSegment(0, "one\ntwo\nthree\n");
  EXPECT_EQ(Find(5, 4), 4);
  EXPECT_EQ(Find(1, 4), 8);
  EXPECT_EQ(Find(0, 14), 14);
}

TEST_F(LogTailTest, CrossesSegmentsAndGaps) {
  WriteSegment(0, "one\ntw");
  WriteSegment(6, "o\nthree\nfo");
  WriteSegment(100, "ur\nfive\n");
  EXPECT_EQ(Find(1), 103);
  EXPECT_EQ(Find(2), 100);
  EXPECT_EQ(Find(3), 14);
  EXPECT_EQ(Find(4), 8);
  EXPECT_EQ(Find(5), 4);
  EXPECT_EQ(Find(6), 0);
}

// The result does not depend on where blocks begin.
TEST_F(LogTailTest, FindsEveryLineOfALargeStream) {
  std::string text;
  std::vector<int64_t> starts;
  for (int i = 0; text.size() < 300'000; ++i) {
    starts.push_back(static_cast<int64_t>(text.size()));
    absl::StrAppend(&text, "line ", i, std::string(static_cast<size_t>(i * 37 % 5000), 'x'), "\n");
  }
  WriteSegment(0, text);
  for (size_t count = 1; count <= starts.size(); ++count) {
    ASSERT_EQ(Find(static_cast<int64_t>(count)), starts[starts.size() - count]) << count;
  }
}

TEST_F(LogTailTest, APieceOfAHugeLineCountsAsALine) {
  WriteSegment(0, std::string(1 << 20, 'x'));
  EXPECT_GT(Find(1), 900'000);
}

// A file of 1 TiB without a single block, as a user can make one in place of the output.
TEST_F(LogTailTest, ASearchCanBeGivenUp) {
  WriteSegment(0, "");
  ASSERT_EQ(truncate(SegmentPath(0).c_str(), int64_t{1} << 40), 0);
  stops_after_ = 100;
  EXPECT_EQ(Find(1, 7, "no such line"), 7);
  EXPECT_EQ(looks_, 101);
}

TEST_F(LogTailTest, WithoutOutputItIsTheStart) { EXPECT_EQ(Find(3), 0); }

}  // namespace
}  // namespace accel::logs
