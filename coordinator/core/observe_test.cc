// Tests which reports are refused or ignored, and the bounds of reports and nodes. What follows
// from a report is tested in tests/scenarios.

#include "coordinator/core/observe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/cluster_state_fixture.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class ObserveTest : public ClusterStateTest {};

// Invariant 5.
TEST_F(ObserveTest, ReportsOfOldSessionsAndOutOfSequenceAreRefused) {
  ASSERT_OK(Report("a", 1, 5, "old"));
  CloseSession(1, common::NodeId("a"), &state_);
  ASSERT_OK(Report("a", 2, 1, "new"));
  EXPECT_THAT(Report("a", 1, 6, "old"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("newer stream")));
  EXPECT_EQ(state_.stale.sessions, 1);
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).observed.incarnation(), "new");
  ASSERT_OK(Report("a", 2, 1, "new"));  // The report is out of sequence and is ignored.
  EXPECT_EQ(state_.stale.sessions, 2);
  EXPECT_THAT(Report("a", 2, 2, "third"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("changed within")));
  // The end of the old session does not end the new one.
  CloseSession(1, common::NodeId("a"), &state_);
  EXPECT_TRUE(IsConnected(state_, state_.nodes.at(common::NodeId("a")), now_));
}

class WildReports : public ClusterStateTest {
 protected:
  // Sends a report of node a that a correct agent would not send.
  absl::Status ReportWild(uint64_t applied_version, const common::JobId& job = common::JobId(),
                          common::Generation generation = 0) {
    v1::NodeObserved observed = Observed("a", 2);
    observed.set_applied_version(applied_version);
    if (generation != 0) AddEnded(job, generation, &observed)->set_store_socket_gone(true);
    return Report(1, observed);
  }
};

TEST_F(WildReports, AVersionThatWasNeverSentIsRefused) {
  state_.revision = 1000;
  ASSERT_OK(Report("a", 1, 1));
  EXPECT_THAT(ReportWild(~uint64_t{0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("applied_version")));
  EXPECT_THAT(ReportWild(1001),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("applied_version")));
  EXPECT_OK(ReportWild(1000));
}

TEST_F(WildReports, AGenerationThatWasNeverPlannedIsRefused) {
  ASSERT_OK(Report("a", 1, 1));
  const common::JobId running = Submit().value();
  const common::JobId waiting = Submit(3).value();
  Rest();
  for (const common::Generation generation : {-1, 2, 200}) {
    EXPECT_THAT(ReportWild(0, running, generation),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(running.value())));
  }
  EXPECT_THAT(ReportWild(0, waiting, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(waiting.value())));
  // A node may have any generation of a job that this coordinator does not know. It will be asked
  // to stop it.
  EXPECT_OK(ReportWild(0, common::JobId("unknown"), 7));
  EXPECT_EQ(Job(running).phase(), v1::STARTING);
}

TEST_F(ObserveTest, ReportsAreCountedAndForgottenWithTheirStreams) {
  v1::NodeObserved observed = Observed("a", 1);
  for (int i = 0; i < 1000; ++i) observed.add_generations()->set_job_id("j");
  ASSERT_OK(Report(1, observed));
  const int64_t bytes = state_.report_bytes;
  EXPECT_GT(bytes, 100'000);
  observed.set_sequence(2);
  ASSERT_OK(Report(1, observed));
  EXPECT_EQ(state_.report_bytes, bytes);
  state_.limits.max_report_bytes = bytes + 1000;
  observed.set_node_id("b");
  observed.set_name("b");
  EXPECT_THAT(Report(2, observed),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("bytes of nodes' reports")));
  // A stream whose first report is refused takes nothing from the stream before it.
  observed.set_node_id("a");
  observed.set_name("a");
  for (int i = 0; i < 1000; ++i) observed.add_generations()->set_job_id("j");
  EXPECT_TRUE(absl::IsResourceExhausted(Report(4, observed)));
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).session, 1u);
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).observed.generations_size(), 1000);
  CloseSession(1, common::NodeId("a"), &state_);
  EXPECT_LT(state_.report_bytes, 5'000);
  EXPECT_EQ(state_.nodes.at(common::NodeId("a")).observed.name(), "a");
  EXPECT_OK(Report(3, Observed("b", 1)));
}

TEST_F(ObserveTest, TheNodesAreBounded) {
  state_.limits.max_nodes = 2;
  ASSERT_OK(Report("a", 1, 1));
  ASSERT_OK(Report("b", 2, 1));
  EXPECT_THAT(Report("c", 3, 1), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2")));
  CloseSession(1, common::NodeId("a"), &state_);
  EXPECT_OK(Report("c", 3, 1));
  EXPECT_EQ(state_.nodes.count(common::NodeId("a")), 0u);
}

}  // namespace
}  // namespace accel::coordinator
