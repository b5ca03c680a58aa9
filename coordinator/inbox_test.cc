#include "coordinator/inbox.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/simulated_clock.h"
#include "common/status_matchers.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class InboxTest : public ::testing::Test {
 protected:
  absl::Status Cancel() {
    ChangeEvent event(CancelEvent{Owner(), common::JobId("j"), false, [](absl::Status) {}});
    return inbox_.Request(event);
  }
  void Report(SessionId session, uint64_t sequence) {
    v1::NodeObserved observed;
    observed.set_sequence(sequence);
    inbox_.PostReport(session, observed);
  }

  static NodeReport Heartbeat(uint64_t sequence, News news) {
    NodeReport report;
    report.observed.set_sequence(sequence);
    report.news = news;
    return report;
  }

  common::SimulatedClock clock_;
  Inbox inbox_{&clock_};
};

TEST_F(InboxTest, RequestsAreBounded) {
  for (size_t i = 0; i < Inbox::kMaxRequests; ++i) ASSERT_OK(Cancel());
  EXPECT_THAT(Cancel(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("try again")));
  // Events that the coordinator itself needs are still accepted.
  inbox_.Post(ChangeEvent(SessionClosed{1}));
  EXPECT_EQ(inbox_.Take(true).changes.size(), Inbox::kMaxRequests + 1);
  EXPECT_OK(Cancel());
}

TEST_F(InboxTest, OnlyTheNewestReportOfASessionIsPending) {
  Report(1, 1);
  Report(2, 7);
  clock_.Advance(absl::Seconds(1));
  Report(1, 2);
  const Inbox::Contents contents = inbox_.Take(true);
  ASSERT_EQ(contents.changes.size(), 2u);
  const auto& first = std::get<ReportEvent>(contents.changes[0]);
  EXPECT_EQ(first.report.observed.sequence(), 2u);
  EXPECT_EQ(first.at, clock_.Now());
  Report(1, 3);
  EXPECT_EQ(inbox_.Take(true).changes.size(), 1u);
}

TEST_F(InboxTest, WhatIsNewInAReplacedReportRemainsNew) {
  NodeReport first = Heartbeat(1, News::kDescription);
  first.observed.add_addresses("10.0.0.1");
  inbox_.PostReport(1, first);
  inbox_.PostReport(1, Heartbeat(2, News::kVersion));
  inbox_.PostReport(1, Heartbeat(3, News::kNothing));
  inbox_.PostReport(2, Heartbeat(1, News::kState));
  inbox_.PostReport(2, Heartbeat(2, News::kNothing));
  inbox_.PostReport(3, Heartbeat(1, News::kNothing));
  inbox_.PostReport(3, Heartbeat(2, News::kNothing));
  const Inbox::Contents contents = inbox_.Take(true);
  ASSERT_EQ(contents.changes.size(), 3u);
  const auto& whole = std::get<ReportEvent>(contents.changes[0]);
  EXPECT_EQ(whole.report.news, News::kDescription);
  EXPECT_EQ(whole.report.observed.sequence(), 3u);
  EXPECT_EQ(whole.report.observed.addresses(0), "10.0.0.1");
  EXPECT_EQ(std::get<ReportEvent>(contents.changes[1]).report.news, News::kState);
  EXPECT_EQ(std::get<ReportEvent>(contents.changes[2]).report.news, News::kNothing);
}

TEST_F(InboxTest, ReportsWithoutNewsSeldomEndTheWait) {
  const auto wakes = [this](News news) {
    inbox_.PostReport(1, Heartbeat(1, news));
    return inbox_.Wait(absl::ZeroDuration());
  };
  EXPECT_TRUE(wakes(News::kNothing));
  EXPECT_FALSE(wakes(News::kNothing));
  EXPECT_TRUE(wakes(News::kVersion));
  EXPECT_FALSE(wakes(News::kNothing));  // Although the report before is still pending.
  clock_.Advance(Inbox::kQuiet - absl::Milliseconds(1));
  EXPECT_FALSE(wakes(News::kNothing));
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_TRUE(wakes(News::kNothing));
  EXPECT_EQ(inbox_.Take(true).changes.size(), 1u);
}

TEST_F(InboxTest, ReplacedReportsTakeNoRoom) {
  NodeReport whole;
  whole.observed.add_addresses("10.0.0.1");
  inbox_.PostReport(1, whole);
  for (uint64_t i = 0; i < 10; ++i) {
    NodeReport report = Heartbeat(i, News::kState);
    report.observed.set_refuses_work(std::string(Inbox::kMaxReportBytes / 8, 'x'));
    inbox_.PostReport(1, std::move(report));
  }
  EXPECT_OK(std::get<ReportEvent>(inbox_.Take(true).changes.at(0)).refused);
}

TEST_F(InboxTest, NoReportReplacesARefusal) {
  v1::NodeObserved large;
  large.set_name(std::string(Inbox::kMaxReportBytes + 1, 'x'));
  inbox_.PostReport(1, large);
  inbox_.PostReport(1, Heartbeat(2, News::kNothing));
  const Inbox::Contents contents = inbox_.Take(true);
  ASSERT_EQ(contents.changes.size(), 1u);
  EXPECT_FALSE(std::get<ReportEvent>(contents.changes[0]).refused.ok());
}

TEST_F(InboxTest, WaitingReportsAreBoundedTogether) {
  v1::NodeObserved large;
  large.set_name(std::string(int64_t{100} << 20, 'x'));
  for (SessionId session = 1; session <= 6; ++session) inbox_.PostReport(session, large);
  // A newer report of the session takes no more room, because it replaces the one before.
  inbox_.PostReport(1, large);
  Report(7, 1);
  std::vector<SessionId> refused;
  for (const ChangeEvent& change : inbox_.Take(true).changes) {
    const auto& report = std::get<ReportEvent>(change);
    if (report.refused.ok()) continue;
    refused.push_back(report.session);
    EXPECT_THAT(report.refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                         HasSubstr("the maximum is 536870912")));
    EXPECT_TRUE(report.report.observed.name().empty());
  }
  EXPECT_EQ(refused, std::vector<SessionId>{6});
  inbox_.PostReport(6, large);
  EXPECT_OK(std::get<ReportEvent>(inbox_.Take(true).changes.at(0)).refused);
}

TEST_F(InboxTest, ChangesWaitForACommitQuestionsDoNot) {
  ASSERT_OK(Cancel());
  inbox_.Post(QueryEvent(UnwatchEvent{1}));
  inbox_.PostCommitted(absl::OkStatus());
  const Inbox::Contents contents = inbox_.Take(/*with_changes=*/false);
  EXPECT_TRUE(contents.changes.empty());
  EXPECT_EQ(contents.queries.size(), 1u);
  EXPECT_TRUE(contents.committed.has_value());
  EXPECT_EQ(inbox_.Take(true).changes.size(), 1u);
  EXPECT_TRUE(inbox_.Take(true).empty());
}

TEST_F(InboxTest, ClosedMeansUnavailable) {
  inbox_.Close();
  EXPECT_THAT(Cancel(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("shutting down")));
  Report(1, 1);
  EXPECT_TRUE(inbox_.Take(true).empty());
}

}  // namespace
}  // namespace accel::coordinator
