#include "cli/render/live_text.h"

#include <gtest/gtest.h>

#include "common/parse_text.h"

namespace accel::cli {
namespace {

TEST(LiveText, DrawsOverTheTextBefore) {
  LiveText live;
  EXPECT_EQ(live.Draw("a\nb\n", 24), "\x1b[?7la\x1b[K\nb\x1b[K\n\x1b[J\x1b[?7h");
  EXPECT_EQ(live.Draw("c\n", 24), "\x1b[2A\r\x1b[?7lc\x1b[K\n\x1b[J\x1b[?7h");
  EXPECT_EQ(live.Draw("d\n", 24).substr(0, 5), "\x1b[1A\r");
}

TEST(LiveText, NeverFillsTheScreen) {
  LiveText live;
  EXPECT_EQ(
      live.Draw("a\nb\nc\nd\n", 4),
      "\x1b[?7la\x1b[K\nb\x1b[K\n… 2 more lines; a pipe gets all of them\x1b[K\n\x1b[J\x1b[?7h");
  EXPECT_EQ(live.Draw("a", 4).substr(0, 4), "\x1b[3A");
}

TEST(JobChanges, AreTheJobsThatDifferFromTheLastList) {
  auto jobs = common::ParseText<v1::ListJobsResponse>(
      R"(jobs { job_id: "a" phase: PENDING } jobs { job_id: "b" phase: RUNNING })");
  JobChanges changes;
  EXPECT_EQ(changes.Since(jobs).jobs_size(), 2);
  EXPECT_EQ(changes.Since(jobs).jobs_size(), 0);
  jobs.mutable_jobs(0)->set_phase(v1::RUNNING);
  ASSERT_EQ(changes.Since(jobs).jobs_size(), 1);
  jobs.mutable_jobs(1)->add_generations();
  ASSERT_EQ(changes.Since(jobs).jobs_size(), 1);
  EXPECT_EQ(changes.Since({}).jobs_size(), 0);
  EXPECT_EQ(changes.Since(jobs).jobs_size(), 2);
}

TEST(ChangeLine, IsOneLine) {
  const auto job = common::ParseText<v1::Job>(R"(job_id: "a" phase: FAILED reason: "x\ny")");
  EXPECT_EQ(ChangeLine(job, absl::FromUnixSeconds(3661), absl::UTCTimeZone()),
            "01:01:01 a FAILED: x\\ny\n");
  EXPECT_EQ(ChangeLine(common::ParseText<v1::Job>("job_id: 'a' phase: 12"),
                       absl::FromUnixSeconds(3661), absl::UTCTimeZone()),
            "01:01:01 a PHASE 12\n");
}

}  // namespace
}  // namespace accel::cli
