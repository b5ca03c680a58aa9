#include "coordinator/gate/core/reset_judge.h"

#include <gtest/gtest.h>

namespace accel::coordinator {
namespace {

using Cut = std::vector<int64_t>;
using Counts = std::vector<StreamCounts>;

TEST(ResetJudgeTest, AConnectionThatCompletesItsStreamsIsLeftAlone) {
  ResetJudge judge;
  EXPECT_EQ(judge.Look(Counts{{1, 100'000, 99'800}}), Cut());
  EXPECT_EQ(judge.Look(Counts{{1, 200'000, 199'700}}), Cut());
}

TEST(ResetJudgeTest, AConnectionThatResetsItsStreamsIsCut) {
  ResetJudge judge;
  EXPECT_EQ(judge.Look(Counts{{1, 600, 0}}), Cut());  // They may be of a whole day.
  EXPECT_EQ(judge.Look(Counts{{1, 1101, 0}, {2, 500, 0}, {3, 501, 0}}), (Cut{1, 3}));
  EXPECT_EQ(judge.Look(Counts{{2, 1000, 0}}), Cut());
  EXPECT_EQ(judge.Look(Counts{{2, 1501, 0}}), Cut{2});
}

TEST(ResetJudgeTest, StreamsThatStayOpenCountOnce) {
  ResetJudge judge;
  judge.Look(Counts());
  EXPECT_EQ(judge.Look(Counts{{1, 256, 0}}), Cut());
  EXPECT_EQ(judge.Look(Counts{{1, 512, 256}}), Cut());
  EXPECT_EQ(judge.Look(Counts{{1, 512, 512}}), Cut());
}

TEST(ResetJudgeTest, CountsAreNotComparedAcrossASkippedLook) {
  ResetJudge judge;
  judge.Look(Counts{{1, 100, 0}});
  judge.Skip();
  EXPECT_EQ(judge.Look(Counts{{1, 10'000, 0}, {2, 10'000, 0}}), Cut());
  EXPECT_EQ(judge.Look(Counts{{1, 10'000, 0}, {2, 20'000, 0}}), Cut{2});
}

}  // namespace
}  // namespace accel::coordinator
