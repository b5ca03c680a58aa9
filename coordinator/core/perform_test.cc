// A job is not looked at after its start and after its last rank has started, because the step says
// what a look would find (perform.cc). These tests are about what is due together with such a step.

#include "coordinator/core/perform.h"

#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/cluster_state_fixture.h"
#include "coordinator/core/counting.h"
#include "coordinator/core/observe.h"
#include "coordinator/core/part.h"
#include "coordinator/core/planner.h"
#include "coordinator/core/requests.h"

namespace accel::coordinator {
namespace {

class PerformTest : public ClusterStateTest {
 protected:
  // Places a job on node "a", which is connected and has not reported the job yet.
  common::JobId Place() {
    EXPECT_OK(Report("a", 1, 1));
    const common::JobId job = Submit().value();
    Rest();
    EXPECT_EQ(Job(job).phase(), v1::STARTING);
    return job;
  }

  void ReportPart(const common::JobId& job, v1::ObservedGeneration::State state) {
    v1::NodeObserved report = Observed("a", ++sequence_);
    v1::ObservedGeneration* const part = AddEnded(job, 1, &report);
    part->set_state(state);
    v1::ObservedWorker* const worker = part->add_workers();
    if (state == v1::ObservedGeneration::ENDED) {
      worker->mutable_exit()->set_kind(v1::ExitRecord::EXITED);
    }
    ASSERT_OK(Report(1, report));
  }

  // Expects that the next plan stops the job, for this to follow.
  void ExpectStops(const common::JobId& job, v1::AfterStop next) {
    Rest();
    EXPECT_EQ(Job(job).phase(), v1::STOPPING);
    EXPECT_EQ(Job(job).next(), next);
  }

  uint64_t sequence_ = 1;
};

TEST_F(PerformTest, TheCountsOfAStartAreThoseOfALook) {
  const JobEntry& entry = state_.jobs.at(Place());
  ASSERT_TRUE(entry.counts.known());
  EXPECT_EQ(entry.counts, CountParts(entry, LookAtParts(state_, entry, now_), now_));
  EXPECT_EQ(NextLook(state_), SilentFrom(state_, state_.nodes.at(common::NodeId("a"))));
}

TEST_F(PerformTest, AJobWhoseRanksHaveStartedRuns) {
  const common::JobId job = Place();
  ReportPart(job, v1::ObservedGeneration::RUNNING);
  Rest();
  EXPECT_EQ(Job(job).phase(), v1::RUNNING);
  EXPECT_TRUE(state_.jobs.at(job).counts.known());
}

TEST_F(PerformTest, ACancelWithTheLastStartIsNotForgotten) {
  const common::JobId job = Place();
  ReportPart(job, v1::ObservedGeneration::RUNNING);
  ASSERT_OK(CancelJob(job, /*at_once=*/false, &state_, &changes_));
  ExpectStops(job, v1::TO_CANCELLED);
}

TEST_F(PerformTest, ADrainWithTheLastStartIsNotForgotten) {
  const common::JobId job = Place();
  ReportPart(job, v1::ObservedGeneration::RUNNING);
  ASSERT_OK(DrainNode("a", v1::MOVE_JOBS, now_, &state_, &changes_));
  ExpectStops(job, v1::TO_RESTARTING);
}

TEST_F(PerformTest, ATimeLimitThatEndsWithTheLastStartIsNotForgotten) {
  const common::JobId job = Place();
  ReportPart(job, v1::ObservedGeneration::RUNNING);
  state_.jobs.at(job).end_by = now_;
  ExpectStops(job, v1::TO_FAILED);
}

TEST_F(PerformTest, AJobMayEndTogetherWithItsLastStart) {
  const common::JobId job = Place();
  ReportPart(job, v1::ObservedGeneration::ENDED);
  Rest();
  EXPECT_EQ(Job(job).phase(), v1::SUCCEEDED);
}

}  // namespace
}  // namespace accel::coordinator
