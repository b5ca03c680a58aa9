#include "coordinator/core/unplaced_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <variant>

#include "coordinator/core/exit_status.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

JobEntry Job(v1::JobPhase phase) {
  JobEntry entry;
  entry.job.set_job_id("a");
  entry.job.set_phase(phase);
  entry.job.set_reason("Waits.");
  entry.job.mutable_spec()->set_time_limit_ms(5000);
  entry.end_by = kNow + absl::Seconds(5);
  return entry;
}

// The action for the job, and the time from which it may need one.
struct Look {
  std::optional<Action> action;
  absl::Time wake_at = absl::InfiniteFuture();
};

Look LookAt(const JobEntry& entry, absl::Time now = kNow) {
  Look look;
  look.action = UnplacedStep(entry, now, &look.wake_at);
  return look;
}

TEST(UnplacedStep, AWaitingJobWakesAtItsTimeLimit) {
  const Look look = LookAt(Job(v1::PENDING));
  EXPECT_FALSE(look.action.has_value());
  EXPECT_EQ(look.wake_at, kNow + absl::Seconds(5));
}

TEST(UnplacedStep, AWaitingJobFailsAtItsTimeLimit) {
  const Look look = LookAt(Job(v1::PENDING), kNow + absl::Seconds(5));
  const auto& end = std::get<EndUnplaced>(*look.action);
  EXPECT_EQ(end.to, v1::FAILED);
  EXPECT_EQ(end.exit_code, kTimedOutExitCode);
  EXPECT_EQ(end.cause->exit().kind(), v1::ExitRecord::TIMED_OUT);
  EXPECT_EQ(end.cause->rank(), -1);
  EXPECT_EQ(end.cause->generation(), 0);
  EXPECT_THAT(end.reason, HasSubstr("its time limit of 5s has passed"));
}

TEST(UnplacedStep, ARestartingJobIsQueuedAfterItsPause) {
  JobEntry entry = Job(v1::RESTARTING);
  entry.not_before = kNow + absl::Seconds(2);
  EXPECT_EQ(LookAt(entry).wake_at, kNow + absl::Seconds(2));
  EXPECT_FALSE(LookAt(entry).action.has_value());
  const Look look = LookAt(entry, kNow + absl::Seconds(2));
  EXPECT_EQ(std::get<Requeue>(*look.action).reason, "Waits.");
}

TEST(UnplacedStep, ATimeLimitEndsAPause) {
  JobEntry entry = Job(v1::RESTARTING);
  entry.not_before = kNow + absl::Minutes(1);
  EXPECT_EQ(LookAt(entry).wake_at, kNow + absl::Seconds(5));
  EXPECT_TRUE(std::holds_alternative<Requeue>(*LookAt(entry, kNow + absl::Seconds(5)).action));
}

TEST(UnplacedStep, ACancelComesBeforeTheTimeLimit) {
  for (const v1::JobPhase phase : {v1::PENDING, v1::RESTARTING}) {
    JobEntry entry = Job(phase);
    entry.cancel = true;
    const Look look = LookAt(entry, kNow + absl::Seconds(5));
    const auto& end = std::get<EndUnplaced>(*look.action);
    EXPECT_EQ(end.to, v1::CANCELLED);
    EXPECT_EQ(end.exit_code, kCancelledExitCode);
    EXPECT_FALSE(end.cause.has_value());
  }
}

}  // namespace
}  // namespace accel::coordinator
