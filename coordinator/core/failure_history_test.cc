#include "coordinator/core/failure_history.h"

#include <gtest/gtest.h>

#include <string>

namespace accel::coordinator {
namespace {

v1::FailureCause Exit(int code, const std::string& line) {
  v1::FailureCause cause;
  cause.mutable_exit()->set_kind(v1::ExitRecord::EXITED);
  cause.mutable_exit()->set_code(code);
  cause.add_last_lines(line);
  return cause;
}

TEST(Signature, IsEqualForFailuresThatLookTheSame) {
  const std::string one = SignatureOf(Exit(1, "12:30:01 [4711] step 17: loss is nan"));
  EXPECT_EQ(one, SignatureOf(Exit(1, "12:45:59 [813] step 2001: loss is nan")));
  EXPECT_NE(one, SignatureOf(Exit(2, "12:30:01 [4711] step 17: loss is nan")));
  EXPECT_NE(one, SignatureOf(Exit(1, "12:30:01 [4711] step 17: out of memory")));
  EXPECT_LE(SignatureOf(Exit(1, std::string(5000, 'x'))).size(), 200u);
  EXPECT_EQ(SignatureOf(Exit(1, "\xc3\xa9t\xc3")), SignatureOf(Exit(1, "t")));
}

class HistoryTest : public ::testing::Test {
 protected:
  void Note(int code, bool quick, const std::string& node = "b", bool has_peers = true) {
    NoteFailure({SignatureOf(Exit(code, "x")), common::NodeId(node), has_peers, quick}, window_,
                now_, &history_);
  }

  absl::Duration window_;
  absl::Time now_ = absl::UnixEpoch();
  FailureHistory history_;
};

TEST_F(HistoryTest, CountsQuickFailuresInARow) {
  Note(1, true);
  Note(2, true);
  Note(3, true);
  EXPECT_EQ(history_.quick, 3);
  Note(4, false);
  EXPECT_EQ(history_.quick, 1);
}

TEST_F(HistoryTest, CountsFailuresThatLookTheSameAndComeSoon) {
  for (int i = 0; i < 3; ++i) Note(1, true);
  EXPECT_EQ(history_.alike, 3);
  Note(1, false);  // It ran for a while, so the program has made progress.
  EXPECT_EQ(history_.alike, 1);
  Note(1, true);
  EXPECT_EQ(history_.alike, 2);
  Note(2, true);
  EXPECT_EQ(history_.alike, 1);
}

TEST_F(HistoryTest, KeepsOnlyTheTimesWithinTheWindow) {
  Note(1, true);
  EXPECT_TRUE(history_.failures.empty());  // Without a window, the job's total counts.
  window_ = absl::Seconds(60);
  for (int i = 0; i < 5; ++i) {
    now_ += absl::Seconds(20);
    Note(1, true);
  }
  EXPECT_EQ(history_.failures.size(), 4u);
  EXPECT_EQ(CountWithin(history_.failures, absl::Seconds(30), now_), 2);
  NoteMembershipChange(window_, now_, &history_);
  now_ += absl::Seconds(61);
  NoteMembershipChange(window_, now_, &history_);
  EXPECT_EQ(history_.membership_changes.size(), 1u);
}

TEST_F(HistoryTest, BlamesANodeOnlyIfOthersRanTheSame) {
  Note(1, true, "b");
  Note(2, true, "b");
  EXPECT_EQ(history_.blamed, 2);
  Note(3, true, "c");
  EXPECT_EQ(history_.blamed, 1);
  EXPECT_EQ(history_.blamed_node, common::NodeId("c"));
  Note(4, true, "c", /*has_peers=*/false);
  EXPECT_EQ(history_.blamed, 0);
  Note(5, true, "", /*has_peers=*/true);
  EXPECT_EQ(history_.blamed, 0);
}

}  // namespace
}  // namespace accel::coordinator
