#include "cli/line_fold.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace accel::cli {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1000);

TEST(LineFoldTest, EqualLinesOfRanksAreOne) {
  LineFold fold;
  for (int rank = 0; rank < 8; ++rank) fold.Add(rank, 0, "start\nepoch 1\n", kNow);
  fold.Add(3, 0, "slow\n", kNow);
  EXPECT_EQ(fold.Flush(),
            "[ranks 0-7, 8 times] start\n[ranks 0-7, 8 times] epoch 1\n[rank 3] slow\n");
}

// A line never moves before or behind another line of its rank.
TEST(LineFoldTest, TheOrderOfEachRankIsKept) {
  LineFold fold;
  fold.Add(0, 0, "a\nb\na\n", kNow);
  fold.Add(1, 0, "b\na\nb\n", kNow);
  EXPECT_EQ(fold.Flush(),
            "[rank 0] a\n[ranks 0-1, 2 times] b\n[ranks 0-1, 2 times] a\n[rank 1] b\n");
}

TEST(LineFoldTest, RepetitionsOfOneRankAreCounted) {
  LineFold fold;
  fold.Add(2, 0, "warning\nwarning\nwarning\n", kNow);
  fold.Add(0, 0, "warning\n", kNow);
  EXPECT_EQ(fold.Flush(), "[ranks 0,2, 4 times] warning\n");
  fold.Add(2, 0, "x\nx\n", kNow);
  EXPECT_EQ(fold.Flush(), "[rank 2, 2 times] x\n");
}

TEST(LineFoldTest, LinesWaitForOtherRanksOnlyForAWhile) {
  LineFold fold;
  EXPECT_EQ(fold.Add(0, 0, "one\nunfin", kNow), "");
  EXPECT_EQ(fold.Due(kNow + absl::Milliseconds(499)), "");
  fold.Add(1, 0, "one\n", kNow + absl::Milliseconds(499));
  EXPECT_EQ(fold.Due(kNow + absl::Milliseconds(500)), "[ranks 0-1, 2 times] one\n");
  EXPECT_EQ(fold.Add(2, 0, "one\n", kNow + absl::Milliseconds(501)), "");
  fold.Add(0, 0, "ished\n", kNow + absl::Milliseconds(501));
  EXPECT_EQ(fold.Flush(), "[rank 2] one\n[rank 0] unfinished\n");
}

TEST(LineFoldTest, WhatIsHeldBackIsBounded) {
  LineFold fold({.max_lines = 2});
  EXPECT_EQ(fold.Add(0, 0, "a\nb\n", kNow), "");
  EXPECT_EQ(fold.Add(0, 0, "c\n", kNow), "[rank 0] a\n");
  LineFold small({.max_bytes = 10});
  EXPECT_EQ(small.Add(0, 0, "123456\n7890\n", kNow), "");
  EXPECT_EQ(small.Add(0, 0, "!\n", kNow), "[rank 0] 123456\n");
  LineFold line;
  EXPECT_EQ(line.Add(0, 0, std::string(70'000, 'x'), kNow), "");
  EXPECT_EQ(line.Due(kNow + absl::Seconds(1)).size(), 70'000 + std::string("[rank 0] \n").size());
}

TEST(LineFoldTest, AGapAndTheStatesOfABarAreLines) {
  LineFold fold;
  fold.Add(0, 0, "before", kNow);
  fold.Add(0, 100, "\r10 %\r20 %\r\nafter\r\n", kNow);
  EXPECT_EQ(fold.Flush(),
            "[rank 0] before\n[rank 0] ... 100 bytes of output were dropped ...\n"
            "[rank 0] 20 %\n[rank 0] after\n");
}

TEST(LineFoldTest, RankListsAreShort) {
  EXPECT_EQ(RankList({3}), "3");
  EXPECT_EQ(RankList({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

}  // namespace
}  // namespace accel::cli
