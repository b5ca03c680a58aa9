// Numbers that only a later version of accel knows: states, kinds of exits and fields that newer
// agents and commands send. They have some sensible effect, and none of them aborts the
// coordinator.
#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <string>

#include "common/status_matchers.h"
#include "coordinator/core/cluster_state_fixture.h"

namespace accel::coordinator {
namespace {

using ::accel::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kLater = 77;

class LaterValuesTest : public ClusterStateTest {
 protected:
  // Starts a job of one rank on node "a".
  common::JobId Start(int max_restarts = 0) {
    EXPECT_OK(Report("a", 1, 1));
    v1::JobSpec spec = Spec();
    spec.set_max_restarts(max_restarts);
    const common::JobId job = Submit("job", spec).value();
    Rest();
    EXPECT_EQ(Job(job).phase(), v1::STARTING) << Job(job).reason();
    return job;
  }

  // Reports the generation in a state, with a worker that has ended if there is an exit.
  void Report(const common::JobId& job, int state, const v1::ExitRecord* exit = nullptr) {
    v1::NodeObserved observed = Observed("a", ++sequence_);
    observed.set_applied_version(state_.revision);
    v1::ObservedGeneration* part = observed.add_generations();
    part->set_job_id(job.value());
    part->set_generation(Job(job).generations().rbegin()->generation());
    part->set_state(static_cast<v1::ObservedGeneration::State>(state));
    if (exit != nullptr) *part->add_workers()->mutable_exit() = *exit;
    ASSERT_OK(ClusterStateTest::Report(1, observed));
    Rest();
  }
  using ClusterStateTest::Report;

  static v1::ExitRecord LaterExit() {
    v1::ExitRecord exit;
    exit.set_kind(static_cast<v1::ExitRecord::Kind>(kLater));
    exit.set_message("it was moved to the moon");
    return exit;
  }

  uint64_t sequence_ = 1;
};

TEST_F(LaterValuesTest, AnUnknownStateOfAGenerationHasProcesses) {
  const common::JobId job = Start();
  Report(job, kLater);
  EXPECT_EQ(Job(job).phase(), v1::STARTING);
  Report(job, v1::ObservedGeneration::RUNNING);
  EXPECT_EQ(Job(job).phase(), v1::RUNNING);
  Report(job, kLater);
  EXPECT_EQ(Job(job).phase(), v1::RUNNING);
  ASSERT_OK(CancelJob(job, /*at_once=*/false, &state_, &changes_));
  Rest();
  Report(job, kLater);
  EXPECT_EQ(Job(job).phase(), v1::STOPPING) << "its rank is not given out";
  Report(job, v1::ObservedGeneration::ENDED);
  EXPECT_EQ(Job(job).phase(), v1::CANCELLED);
}

TEST_F(LaterValuesTest, AnExitOfAnUnknownKindIsAFailureOfItsRank) {
  const common::JobId job = Start();
  Report(job, v1::ObservedGeneration::RUNNING);
  const v1::ExitRecord exit = LaterExit();
  Report(job, v1::ObservedGeneration::ENDED, &exit);
  EXPECT_EQ(Job(job).phase(), v1::FAILED);
  EXPECT_EQ(Job(job).exit_code(), 1);
  EXPECT_EQ(Job(job).cause().rank(), 0);
  EXPECT_EQ(Job(job).cause().exit().kind(), kLater) << "a newer command can still say what it was";
  EXPECT_THAT(Job(job).reason(),
              HasSubstr("Rank 0 on node a ended in a way that this version of accel does not know: "
                        "it was moved to the moon"));
}

TEST_F(LaterValuesTest, AnExitOfAnUnknownKindSpendsARestart) {
  const common::JobId job = Start(/*max_restarts=*/1);
  const v1::ExitRecord exit = LaterExit();
  Report(job, v1::ObservedGeneration::ENDED, &exit);
  EXPECT_EQ(Job(job).generations_size(), 2);
  EXPECT_EQ(Job(job).failures(), 1);
}

TEST_F(LaterValuesTest, AnUnknownDrainIsRefused) {
  Start();
  EXPECT_THAT(DrainNode("a", static_cast<v1::Drain>(kLater), now_, &state_, &changes_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("77")));
}

TEST_F(LaterValuesTest, AnUnknownPolicyOfAJobIsRefused) {
  v1::JobSpec spec = Spec();
  spec.set_on_agent_loss(static_cast<v1::OnAgentLoss>(kLater));
  EXPECT_THAT(Submit("job", spec),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("on_agent_loss")));
}

// The job would run without what its user asked for.
TEST_F(LaterValuesTest, AnUnknownSettingOfAJobIsRefused) {
  v1::JobSpec spec = Spec();
  spec.GetReflection()->MutableUnknownFields(&spec)->AddVarint(1234, 1);
  EXPECT_THAT(Submit("job", spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("field 1234"), HasSubstr("upgrade the coordinator"))));
  EXPECT_TRUE(state_.jobs.empty());
}

TEST_F(LaterValuesTest, AnUnknownFieldOfAReportIsIgnored) {
  v1::NodeObserved observed = Observed("a", 1);
  observed.GetReflection()->MutableUnknownFields(&observed)->AddVarint(1234, 1);
  ASSERT_OK(Report(1, observed));
  observed.set_sequence(2);
  ASSERT_OK(Report(1, observed));
  ASSERT_OK(Submit());
  Rest();
  EXPECT_EQ(state_.jobs.begin()->second.job.phase(), v1::STARTING);
}

}  // namespace
}  // namespace accel::coordinator
