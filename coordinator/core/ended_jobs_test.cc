#include "coordinator/core/ended_jobs.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace accel::coordinator {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();
constexpr int64_t kEnough = int64_t{64} << 20;

EndedJob Job(int number) {
  return {common::JobId(absl::StrCat("j", number)),
          absl::StrCat("submit-", number),
          "ann",
          v1::FAILED,
          number,
          7};
}

TEST(EndedJobsTest, AreFoundByBothIds) {
  EndedJobs jobs;
  for (int i = 0; i < 1000; ++i) jobs.Add(Job(i), kStart, kEnough);
  const EndedJobs moved = std::move(jobs);
  EXPECT_EQ(moved.Find(common::JobId("j5"))->exit_code, 5);
  EXPECT_EQ(moved.FindBySubmit("submit-999")->id, common::JobId("j999"));
  EXPECT_EQ(moved.Find(common::JobId("submit-5")), nullptr);
  EXPECT_EQ(moved.FindBySubmit("j5"), nullptr);
}

TEST(EndedJobsTest, AreKeptForADayWhateverTheRate) {
  EndedJobs jobs;
  for (int i = 0; i < 100'000; ++i) jobs.Add(Job(i), kStart, kEnough);
  jobs.Add(Job(100'000), kStart + absl::Hours(23), kEnough);
  EXPECT_NE(jobs.Find(common::JobId("j0")), nullptr);
  jobs.Add(Job(100'001), kStart + absl::Hours(25), kEnough);
  EXPECT_EQ(jobs.Find(common::JobId("j0")), nullptr);
  EXPECT_EQ(jobs.FindBySubmit("submit-99999"), nullptr);
  EXPECT_EQ(jobs.size(), 2u);
}

TEST(EndedJobsTest, TheOldestGoAtTheBound) {
  EndedJobs jobs;
  for (int i = 0; i < 1000; ++i) jobs.Add(Job(i), kStart, 10'000);
  EXPECT_GT(jobs.size(), 30u);
  EXPECT_LT(jobs.size(), 40u);
  EXPECT_EQ(jobs.Find(common::JobId("j900")), nullptr);
  EXPECT_EQ(jobs.FindBySubmit("submit-900"), nullptr);
  EXPECT_NE(jobs.Find(common::JobId("j999")), nullptr);
}

TEST(EndedJobsTest, TheJobOfAnEndHasItsIdsOwnerPhaseExitCodeAndTime) {
  v1::Job job;
  job.set_job_id("j");
  job.set_submit_id("s");
  job.set_phase(v1::CANCELLED);
  job.set_exit_code(143);
  job.set_ended_unix_ms(5);
  job.mutable_spec()->add_argv("train");
  job.mutable_spec()->set_owner("ann");
  const v1::Job told = ToJob(EndOf(job));
  EXPECT_EQ(told.job_id(), "j");
  EXPECT_EQ(told.submit_id(), "s");
  EXPECT_EQ(told.phase(), v1::CANCELLED);
  EXPECT_EQ(told.exit_code(), 143);
  EXPECT_EQ(told.ended_unix_ms(), 5);
  EXPECT_EQ(told.spec().owner(), "ann");
  EXPECT_TRUE(told.spec().argv().empty());
}

}  // namespace
}  // namespace accel::coordinator
