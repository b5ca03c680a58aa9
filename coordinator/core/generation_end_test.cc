#include "coordinator/core/generation_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/time.h"
#include "coordinator/core/exit_status.h"

namespace accel::coordinator {
namespace {

using ::testing::HasSubstr;

// A job that is STOPPING.
JobEntry Stopping(v1::AfterStop next) {
  JobEntry entry;
  entry.job.set_job_id("a");
  entry.job.set_phase(v1::STOPPING);
  entry.job.set_next(next);
  entry.job.mutable_spec()->set_max_restarts(5);
  return entry;
}

// The same job, stopped because rank 1 exited with code 3. Its failures came soon after the starts.
JobEntry Failed(v1::AfterStop next, int quick_failures = 1) {
  JobEntry entry = Stopping(next);
  v1::FailureCause* cause = entry.job.mutable_cause();
  cause->set_rank(1);
  cause->set_node_name("n");
  cause->mutable_exit()->set_kind(v1::ExitRecord::EXITED);
  cause->mutable_exit()->set_code(3);
  entry.job.set_failures(quick_failures);
  entry.history.quick = quick_failures;
  return entry;
}

TEST(EndOfGeneration, ASuccessHasExitCodeZero) {
  const EndGeneration end = EndOfGeneration(Limits(), Stopping(v1::TO_SUCCEEDED), {});
  EXPECT_EQ(end.job, common::JobId("a"));
  EXPECT_EQ(end.to, v1::SUCCEEDED);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.reason, "All ranks have exited with code 0.");
}

TEST(EndOfGeneration, ACancelledJobHasItsOwnExitCodeAlthoughARankFailed) {
  const EndGeneration end = EndOfGeneration(Limits(), Failed(v1::TO_CANCELLED), {});
  EXPECT_EQ(end.to, v1::CANCELLED);
  EXPECT_EQ(end.exit_code, kCancelledExitCode);
  EXPECT_EQ(end.reason, "Cancelled.");
}

TEST(EndOfGeneration, AFailedJobHasTheExitCodeOfItsCause) {
  const EndGeneration end = EndOfGeneration(Limits(), Failed(v1::TO_FAILED), {});
  EXPECT_EQ(end.to, v1::FAILED);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_THAT(end.reason, HasSubstr("Rank 1 on node n exited with code 3"));
}

TEST(EndOfGeneration, ARestartAfterRepeatedFailuresPauses) {
  Limits limits;
  limits.restart_jitter = 0;
  EXPECT_EQ(EndOfGeneration(limits, Failed(v1::TO_RESTARTING, 1), {}).pause, absl::ZeroDuration());
  const EndGeneration end = EndOfGeneration(limits, Failed(v1::TO_RESTARTING, 2), {});
  EXPECT_EQ(end.to, v1::RESTARTING);
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.pause, limits.first_restart_pause);
  EXPECT_THAT(end.reason, HasSubstr("restart 2 of 5 after a pause of 1s"));
}

TEST(EndOfGeneration, ARestartWithoutAFailureDoesNotPause) {
  JobEntry moved = Stopping(v1::TO_RESTARTING);
  moved.job.set_stopping_for("An operator moves the jobs of node n");
  moved.history.quick = 5;
  const EndGeneration end = EndOfGeneration(Limits(), moved, {});
  EXPECT_EQ(end.to, v1::RESTARTING);
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.pause, absl::ZeroDuration());
  EXPECT_EQ(end.reason, "An operator moves the jobs of node n.");
}

}  // namespace
}  // namespace accel::coordinator
