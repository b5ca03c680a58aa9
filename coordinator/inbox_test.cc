#include "coordinator/inbox.h"

#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace accel {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class InboxTest : public ::testing::Test {
 protected:
  absl::Status Cancel() {
    ChangeEvent event(CancelEvent{JobId("j"), false, [](absl::Status) {}});
    return inbox_.Request(event);
  }
  void Report(SessionId session, uint64_t sequence) {
    v1::NodeObserved observed;
    observed.set_sequence(sequence);
    inbox_.TellReport(session, observed);
  }

  SimulatedClock clock_;
  Inbox inbox_{&clock_};
};

TEST_F(InboxTest, RequestsAreBounded) {
  for (size_t i = 0; i < Inbox::kMostRequests; ++i) ASSERT_OK(Cancel());
  EXPECT_THAT(Cancel(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("try again")));
  // The coordinator itself is still heard.
  inbox_.Tell(ChangeEvent(SessionClosed{1}));
  EXPECT_EQ(inbox_.Take(true).changes.size(), Inbox::kMostRequests + 1);
  EXPECT_OK(Cancel());
}

TEST_F(InboxTest, OfReportsOnlyTheNewestWaits) {
  Report(1, 1);
  Report(2, 7);
  clock_.Advance(absl::Seconds(1));
  Report(1, 2);
  const Inbox::Contents contents = inbox_.Take(true);
  ASSERT_EQ(contents.changes.size(), 2u);
  const auto& first = std::get<ReportEvent>(contents.changes[0]);
  EXPECT_EQ(first.observed.sequence(), 2u);
  EXPECT_EQ(first.at, clock_.Now());
  Report(1, 3);
  EXPECT_EQ(inbox_.Take(true).changes.size(), 1u);
}

TEST_F(InboxTest, ChangesWaitForACommitQuestionsDoNot) {
  ASSERT_OK(Cancel());
  inbox_.Tell(QueryEvent(UnwatchEvent{1}));
  inbox_.TellCommitted(absl::OkStatus());
  const Inbox::Contents contents = inbox_.Take(/*with_changes=*/false);
  EXPECT_TRUE(contents.changes.empty());
  EXPECT_EQ(contents.queries.size(), 1u);
  EXPECT_TRUE(contents.committed.has_value());
  EXPECT_EQ(inbox_.Take(true).changes.size(), 1u);
  EXPECT_TRUE(inbox_.Take(true).empty());
}

TEST_F(InboxTest, ClosedMeansUnavailable) {
  inbox_.Close();
  EXPECT_THAT(Cancel(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("ending")));
  Report(1, 1);
  EXPECT_TRUE(inbox_.Take(true).empty());
}

}  // namespace
}  // namespace accel
