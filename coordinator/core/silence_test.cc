// The scenarios tests/scenarios/silent_node*.txt have the rules as they act. These are cases that
// scenarios cannot express.
#include "coordinator/core/silence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/cluster_state_fixture.h"
#include "coordinator/core/observe.h"

namespace accel::coordinator {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class SilenceTest : public ClusterStateTest {
 protected:
  void ReportAs(SessionId session, const std::string& node, const std::string& name) {
    v1::NodeObserved report = Observed(node, 1);
    report.set_name(name);
    ASSERT_OK(Report(session, report));
  }

  const NodeEntry& Node(const std::string& id) { return state_.nodes.at(common::NodeId(id)); }
};

TEST_F(SilenceTest, ANodeWhoseNameAnotherOneHasTakenIsDrainedByItsId) {
  ReportAs(1, "first", "gpu7");
  const common::JobId job = Submit().value();
  Rest();
  ASSERT_EQ(Job(job).phase(), v1::STARTING);
  now_ += absl::Hours(1);
  EXPECT_THAT(DescribeWait(state_, state_.jobs.at(job), Node("first")),
              HasSubstr("`accel drain --now gpu7`"));
  ReportAs(2, "second", "gpu7");
  EXPECT_THAT(DescribeWait(state_, state_.jobs.at(job), Node("first")),
              HasSubstr("`accel drain --now first`"));
  ASSERT_OK(DrainNode("first", v1::MOVE_JOBS, now_, &state_, &changes_));
  EXPECT_TRUE(Node("first").given_up);
  EXPECT_EQ(Node("second").drain, v1::NOT_DRAINED);
}

TEST_F(SilenceTest, ANodeThatIsConnectedIsNotGivenUpByADrain) {
  ReportAs(1, "a", "a");
  ASSERT_OK(DrainNode("a", v1::MOVE_JOBS, now_, &state_, &changes_));
  EXPECT_FALSE(Node("a").given_up);
  CloseSession(1, common::NodeId("a"), &state_);
  ASSERT_OK(DrainNode("a", v1::MOVE_JOBS, now_, &state_, &changes_));
  EXPECT_TRUE(Node("a").given_up);
  changes_ = {};
  ReportAs(2, "a", "a");
  EXPECT_FALSE(Node("a").given_up);
  EXPECT_THAT(changes_.registered, Contains(common::NodeId("a"))) << "it must be stored";
}

TEST_F(SilenceTest, ANodeWithARevokedCertificateIsGivenUpForGood) {
  ReportAs(1, "a", "a");
  const common::JobId job = Submit().value();
  Rest();
  EXPECT_TRUE(WaitsFor(state_.jobs.at(job), Node("a")));
  changes_ = {};
  LoseNode(common::NodeId("a"), "its certificate was revoked", &state_, &changes_);
  ASSERT_OK(DrainNode("a", v1::MOVE_JOBS, now_, &state_, &changes_));
  ASSERT_OK(DrainNode("a", v1::NOT_DRAINED, now_, &state_, &changes_));
  EXPECT_FALSE(WaitsFor(state_.jobs.at(job), Node("a")));
  EXPECT_THAT(changes_.registered, Contains(common::NodeId("a"))) << "it must be stored";
}

}  // namespace
}  // namespace accel::coordinator
