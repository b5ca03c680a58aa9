#include "coordinator/gate/core/reset_judge.h"

#include <gtest/gtest.h>

namespace accel::coordinator {
namespace {

using Cut = std::vector<int64_t>;
using Counts = std::vector<StreamCounts>;

class ResetJudgeTest : public ::testing::Test {
 protected:
  // Looks this long after the look before.
  Cut LookAfter(absl::Duration pause, const Counts& counts) {
    now_ += pause;
    return judge_.Look(counts, now_);
  }
  Cut Look(const Counts& counts) { return LookAfter(absl::Milliseconds(200), counts); }

  absl::Time now_ = absl::UnixEpoch();
  ResetJudge judge_{now_};
};

TEST_F(ResetJudgeTest, AConnectionThatCompletesItsStreamsIsLeftAlone) {
  EXPECT_EQ(Look({{1, 100'000, 99'800}}), Cut());
  EXPECT_EQ(Look({{1, 200'000, 199'700}}), Cut());
}

TEST_F(ResetJudgeTest, AConnectionThatResetsItsStreamsIsCut) {
  // 500 may be unfinished, and 100 are paid in 200 ms.
  EXPECT_EQ(Look({{1, 601, 0}, {2, 600, 0}}), Cut{1});
  EXPECT_EQ(Look({{2, 700, 0}}), Cut());
  EXPECT_EQ(Look({{2, 801, 0}}), Cut{2});
}

TEST_F(ResetJudgeTest, AConnectionMayFailAnyNumberOfStreamsInADay) {
  EXPECT_EQ(Look({{1, 0, 0}}), Cut());
  EXPECT_EQ(LookAfter(absl::Hours(24), {{1, 1'000'000, 0}}), Cut());
}

// An attacker must not escape by pauses: the looks in them are left out, because there are few
// calls.
TEST_F(ResetJudgeTest, BurstsWithPausesAreCut) {
  Cut cut;
  int64_t started = 0;
  for (int i = 0; i < 20 && cut.empty(); ++i) {
    started += 400;
    cut = LookAfter(absl::Milliseconds(400), {{1, started, 0}});
  }
  EXPECT_EQ(cut, Cut{1});
}

TEST_F(ResetJudgeTest, StreamsThatStayOpenCountOnce) {
  EXPECT_EQ(Look({{1, 256, 0}}), Cut());
  EXPECT_EQ(Look({{1, 512, 256}}), Cut());
  EXPECT_EQ(Look({{1, 512, 512}}), Cut());
  EXPECT_EQ(Look({{1, 768, 512}}), Cut());
}

TEST_F(ResetJudgeTest, AConnectionThatIsGoneLeavesNoDebt) {
  EXPECT_EQ(Look({{1, 600, 0}}), Cut());
  EXPECT_EQ(Look({}), Cut());
  EXPECT_EQ(Look({{2, 600, 0}}), Cut());
}

}  // namespace
}  // namespace accel::coordinator
