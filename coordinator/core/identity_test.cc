#include "coordinator/core/identity.h"

#include <gtest/gtest.h>

#include <string>

#include "common/status_matchers.h"
#include "coordinator/core/observe.h"

namespace accel::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

struct Agent {
  std::string node_id = "id-a";
  std::string name = "a";
  std::string boot = "boot-1";
  std::string incarnation = "1";
  std::string address = "10.0.0.7";
};

class IdentityTest : public ::testing::Test {
 protected:
  absl::Status Report(const Agent& agent, SessionId session) {
    v1::NodeObserved report;
    report.set_node_id(agent.node_id);
    report.set_name(agent.name);
    report.set_boot_id(agent.boot);
    report.set_incarnation(agent.incarnation);
    report.set_address(agent.address);
    report.set_sequence(++sequence_);
    return Observe(session, report, now_, &state_, &changes_, &superseded_);
  }

  std::string Incarnation(const std::string& id = "id-a") {
    return state_.nodes.at(common::NodeId(id)).observed.incarnation();
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  ClusterState state_;
  Changes changes_;
  SessionId superseded_ = 0;
  uint64_t sequence_ = 0;
};

TEST_F(IdentityTest, ACopyOnAnotherMachineWaitsUntilTheFirstIsSilent) {
  ASSERT_OK(Report({}, 1));
  const Agent copy{.boot = "boot-2", .incarnation = "2", .address = "10.0.0.8"};
  EXPECT_THAT(Report(copy, 2),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("id-a"), HasSubstr("10.0.0.7"), HasSubstr("boot-1"),
                             HasSubstr("incarnation 1"), HasSubstr("--state_dir"))));
  EXPECT_EQ(superseded_, 0u);
  ASSERT_OK(Report({}, 1));
  // The copy is refused even while the first agent's connection is broken.
  CloseSession(1, common::NodeId("id-a"), &state_);
  EXPECT_THAT(Report(copy, 3), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("alive")));
  ASSERT_OK(Report({}, 4));
  now_ += state_.limits.node_timeout;
  ASSERT_OK(Report(copy, 5));
  EXPECT_EQ(superseded_, 4u);
  EXPECT_EQ(Incarnation(), "2");
}

TEST_F(IdentityTest, ACopyOnTheSameMachineWaitsWhileTheFirstIsConnected) {
  ASSERT_OK(Report({}, 1));
  EXPECT_THAT(Report({.incarnation = "2"}, 2),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("alive")));
  EXPECT_EQ(Incarnation(), "1");
}

TEST_F(IdentityTest, ARestartedAgentGetsInAtOnce) {
  ASSERT_OK(Report({}, 1));
  CloseSession(1, common::NodeId("id-a"), &state_);
  EXPECT_OK(Report({.incarnation = "2"}, 2));
  EXPECT_EQ(Incarnation(), "2");
}

TEST_F(IdentityTest, ARebootedMachineGetsInAtOnce) {
  ASSERT_OK(Report({}, 1));
  const Agent rebooted{.boot = "boot-2", .incarnation = "2"};
  EXPECT_THAT(Report(rebooted, 2),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("alive")));
  CloseSession(1, common::NodeId("id-a"), &state_);
  EXPECT_OK(Report(rebooted, 3));
  EXPECT_EQ(Incarnation(), "2");
}

TEST_F(IdentityTest, TheSameAgentMayAlwaysReconnect) {
  ASSERT_OK(Report({}, 1));
  EXPECT_OK(Report({}, 2));
  EXPECT_EQ(superseded_, 1u);
}

TEST_F(IdentityTest, ANameBelongsToOneLiveNode) {
  ASSERT_OK(Report({}, 1));
  const Agent other{.node_id = "id-b", .incarnation = "9"};
  EXPECT_THAT(Report(other, 2),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("name"), HasSubstr("id-a"), HasSubstr("--name"))));
  EXPECT_EQ(state_.nodes.size(), 1u);
  EXPECT_OK(Report({.node_id = "id-b", .name = "b", .incarnation = "9"}, 3));
  // The machine was reinstalled, so the agent has another id and the same name.
  now_ += state_.limits.node_timeout;
  EXPECT_OK(Report({.node_id = "id-c", .boot = "boot-2", .incarnation = "3"}, 4));
  EXPECT_THAT(Report({}, 5), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("id-c")));
}

TEST_F(IdentityTest, ANameThatIsNoLongerUsedIsFree) {
  ASSERT_OK(Report({}, 1));
  EXPECT_THAT(Report({.name = "z"}, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("within one stream")));
  CloseSession(1, common::NodeId("id-a"), &state_);
  ASSERT_OK(Report({.name = "b", .incarnation = "2"}, 2));
  EXPECT_OK(Report({.node_id = "id-b", .name = "a", .incarnation = "9"}, 3));
}

}  // namespace
}  // namespace accel::coordinator
