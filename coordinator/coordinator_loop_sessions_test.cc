// How the loop serves the sessions of agents: which session of a node counts, and when a node is
// sent its desired state again.

#include <optional>
#include <string>

#include "common/version.h"
#include "coordinator/coordinator_loop_fixture.h"
#include "coordinator/core/node_report_fixture.h"

namespace accel::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;

TEST_F(CoordinatorLoopTest, ANewerStreamOfANodeEndsTheOlder) {
  const auto first = Connect(&loop_);
  first->session->Report(Observed(1));
  Settle();
  const auto second = Connect(&loop_);
  second->session->Report(Observed(1));
  Settle();
  ASSERT_TRUE(first->closed.has_value());
  EXPECT_THAT(*first->closed, StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("newer")));
  EXPECT_EQ(second->desired.size(), 1u);
  // Reports over the older session have no effect.
  first->session->Report(Observed(2));
  loop_.RunOnce();
  EXPECT_EQ(first->desired.size(), 1u);
  EXPECT_FALSE(second->closed.has_value());
}

TEST_F(CoordinatorLoopTest, AnAgentOfAnotherVersionIsLoggedWithBoth) {
  const auto log_of = [&](const std::string& version) {
    ::testing::internal::CaptureStderr();
    const auto agent = Connect(&loop_);
    v1::NodeObserved report = Observed(1);
    report.set_version(version);
    agent->session->Report(report);
    Settle();
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(log_of(common::kVersion), AllOf(HasSubstr("node connected"), Not(HasSubstr("with"))));
  EXPECT_THAT(log_of("0.0.9"), AllOf(HasSubstr("node connected with another version of accel"),
                                     HasSubstr("0.0.9"), HasSubstr(common::kVersion)));
}

TEST_F(CoordinatorLoopTest, AnotherAgentWithTheSameIdIsRefusedAndTheFirstContinues) {
  const auto first = Connect(&loop_);
  first->session->Report(Observed(1));
  Settle();
  const auto copy = Connect(&loop_);
  v1::NodeObserved report = Observed(1);
  report.set_incarnation("a-2");
  report.set_boot_id("another");
  copy->session->Report(report);
  Settle();
  ASSERT_TRUE(copy->closed.has_value());
  EXPECT_THAT(*copy->closed,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--state_dir")));
  std::optional<absl::StatusOr<common::JobId>> job;
  Submit("one", &job);
  store_.Succeed();
  loop_.RunOnce();
  EXPECT_FALSE(first->closed.has_value());
  EXPECT_EQ(first->desired.back()->generations_size(), 1);
}

TEST_F(CoordinatorLoopTest, AReportThatMakesNoSenseEndsItsStream) {
  const auto agent = Connect(&loop_);
  v1::NodeObserved report = Observed(1);
  report.clear_incarnation();
  agent->session->Report(report);
  loop_.RunOnce();
  EXPECT_THAT(*agent->closed,
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("incarnation")));
}

// A node joins again with another name while a stream under the old one is open.
TEST_F(CoordinatorLoopTest, AStreamUnderAFormerNameOfItsNodeEnds) {
  const auto join_as = [this](const std::string& name) {
    const auto act = [name](const AccessTurn& turn) {
      v1::Member& member = turn.access->members[{v1::NODE_MEMBER, "id-a"}];
      member.set_kind(v1::NODE_MEMBER);
      member.set_id("id-a");
      member.set_name(name);
      turn.changes->members.insert({v1::NODE_MEMBER, "id-a"});
      return absl::OkStatus();
    };
    loop_.WithAccess(act, [](const absl::Status& status) { EXPECT_OK(status); });
    Settle();
  };
  join_as("a");
  const auto agent = Connect(&loop_, {CallerKind::kNode, "id-a", "", Role::kViewer});
  agent->session->Report(Observed(1));
  Settle();
  agent->session->Report(Partial(Observed(2), News::kNothing));
  Settle();
  EXPECT_FALSE(agent->closed.has_value());
  join_as("b");
  agent->session->Report(Partial(Observed(3), News::kNothing));
  Settle();
  ASSERT_TRUE(agent->closed.has_value());
  EXPECT_THAT(*agent->closed,
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("joined as b")));
}

TEST_F(CoordinatorLoopTest, AnUnchangedDesiredStateIsNotSentAgain) {
  const auto agent = Connect(&loop_);
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
    agent->session->Report(Observed(sequence));
    Settle();
  }
  EXPECT_EQ(agent->desired.size(), 1u);
}

// The answer bounds the clock of the node (docs/decisions/0044).
TEST_F(CoordinatorLoopTest, ANodeWithAJobIsAskedAgainAlthoughItReportsTheSame) {
  const auto agent = Connect(&loop_);
  agent->session->Report(Observed(1));
  Settle();
  std::optional<absl::StatusOr<common::JobId>> job;
  Submit("one", &job);
  Settle();
  ASSERT_OK(*job);
  uint64_t sequence = 2;
  const auto report = [&] {
    v1::NodeObserved running = Observed(sequence++);
    AddGeneration((*job)->value(), 1, v1::ObservedGeneration::RUNNING, &running);
    running.set_applied_version(agent->desired.back()->version());
    running.set_made_us(absl::ToUnixMicros(clock_.Now()));
    agent->session->Report(running);
    Settle();
  };
  report();
  const size_t before = agent->desired.size();
  for (int i = 0; i < 31; ++i) {
    clock_.Advance(absl::Seconds(2));
    report();
  }
  EXPECT_EQ(agent->desired.size(), before + 1);
}

}  // namespace
}  // namespace accel::coordinator
