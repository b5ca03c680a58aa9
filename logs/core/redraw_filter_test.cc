#include "logs/core/redraw_filter.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace accel::logs {
namespace {

class RedrawFilterTest : public ::testing::Test {
 protected:
  std::string Add(absl::string_view text) { return std::string(filter_.Add(text, now_)); }
  std::string Flush() { return std::string(filter_.Flush(now_)); }
  void Pass(absl::Duration time) { now_ += time; }

  RedrawFilter filter_;
  absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST_F(RedrawFilterTest, OtherOutputPassesUnchanged) {
  for (const char* text : {"one\n", "two", "\nthree\r\nfo", "ur\r", "\nfive\r\n\r\n"}) {
    EXPECT_EQ(Add(text), text);
    EXPECT_EQ(filter_.due(), absl::InfiniteFuture());
  }
  EXPECT_EQ(filter_.left_out(), 0);
}

// tqdm writes the carriage return first.
TEST_F(RedrawFilterTest, OneStatePassesPerWindowAndTheLastOneAlways) {
  std::string kept = Add("begin\n");
  for (int i = 0; i < 50; ++i) {
    kept += Add(absl::StrCat("\r", i, " %|#"));
    Pass(absl::Milliseconds(100));
  }
  kept += Add("\r50 %|#\nend\n");
  EXPECT_EQ(kept, "begin\n\r0 %|#\r10 %|#\r20 %|#\r30 %|#\r40 %|#\r50 %|#\nend\n");
}

// Others write it last.
TEST_F(RedrawFilterTest, AStateThatEndsInACarriageReturnIsAState) {
  std::string kept;
  for (int i = 10; i < 40; ++i) {
    kept += Add(absl::StrCat(i, " %\r"));
    Pass(absl::Milliseconds(100));
  }
  kept += Add("\n");
  EXPECT_EQ(kept, "10 %\r11 %\r21 %\r31 %\r39 %\r\n");
}

TEST_F(RedrawFilterTest, ABarThatStopsShowsItsLastState) {
  Add("\r10 %");
  Pass(absl::Milliseconds(100));
  EXPECT_EQ(Add("\r20 %"), "\r") << "the end of the state that has passed";
  EXPECT_EQ(Add("\r30"), "");
  EXPECT_EQ(filter_.due(), now_ + absl::Milliseconds(900));
  Pass(absl::Milliseconds(900));
  EXPECT_EQ(Flush(), "20 %\r30") << "30 may be cut off, so it does not replace the state before";
  EXPECT_EQ(filter_.due(), absl::InfiniteFuture());
  EXPECT_EQ(Add(" % done"), " % done") << "its beginning has passed";
  EXPECT_EQ(Add("\r40 %"), "\r");
  EXPECT_EQ(Add("\n"), "40 %\n");
}

TEST_F(RedrawFilterTest, AShortLastStateDoesNotHideTheOneBefore) {
  Add("\r10 %");
  Add("\r100 %");
  EXPECT_EQ(Add("\rdone\n"), "100 %\rdone\n");
}

// A bar that runs for a day leaves less than a state per ten seconds, and so less than 2 MB.
TEST_F(RedrawFilterTest, ALongBarIsShownLessOften) {
  const std::string bar(150, '#');
  size_t kept = 0;
  for (int i = 0; i < 864'000; ++i) {
    kept += Add(absl::StrCat("\r", bar, i)).size();
    Pass(absl::Milliseconds(100));
    if (filter_.due() == absl::InfiniteFuture()) continue;
    ASSERT_LE(filter_.due(), now_ + absl::Seconds(10)) << "a watcher waits for 10 s at most";
  }
  EXPECT_LT(kept, 2'000'000u);
  EXPECT_GT(kept, 1'000'000u);
}

TEST_F(RedrawFilterTest, DataThatIsNoBarPasses) {
  std::string data;
  for (int i = 0; i < 1024; ++i) data.push_back(static_cast<char>(i * 7));
  for (size_t piece : {1, 3, 100, 1024}) {
    RedrawFilter filter;
    std::string kept;
    for (size_t at = 0; at < data.size(); at += piece) {
      kept += std::string(filter.Add(absl::string_view(data).substr(at, piece), now_));
    }
    kept += std::string(filter.Flush(now_));
    EXPECT_EQ(kept, data) << piece;
  }
  Add("\r1 %");
  const std::string line(10'000, 'x');
  EXPECT_TRUE(absl::EndsWith(Add("\r" + line), line));
}

TEST_F(RedrawFilterTest, WhatIsHeldBackIsBounded) {
  Add("\rbar");
  size_t kept = 0;
  for (int i = 0; i < 100'000; ++i) kept += Add("x").size();
  EXPECT_GT(kept, 90'000u);
}

}  // namespace
}  // namespace accel::logs
