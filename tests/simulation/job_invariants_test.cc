#include "tests/simulation/job_invariants.h"

#include <gtest/gtest.h>

namespace accel::simulation {
namespace {

v1::Job Running() {
  v1::Job job;
  job.set_job_id("a");
  job.set_version(7);
  job.set_phase(v1::RUNNING);
  job.set_failures(1);
  job.mutable_spec()->set_time_limit_ms(10'000);
  for (int number : {1, 2}) {
    v1::GenerationRecord* record = job.add_generations();
    record->set_generation(number);
    record->set_started_unix_ms(1'000 * number);
    record->add_placements()->set_node_id("n");
  }
  return job;
}

TEST(JobInvariants, OfTwoVersions) {
  const v1::Job before = Running();
  v1::Job after = before;
  after.set_version(8);
  after.set_phase(v1::SUCCEEDED);
  EXPECT_TRUE(CheckChange(before, after).ok());
  v1::Job changed = after;
  changed.set_phase(v1::FAILED);
  EXPECT_FALSE(CheckChange(after, changed).ok());
  changed = after;
  changed.set_version(6);
  EXPECT_FALSE(CheckChange(before, changed).ok());
  changed = after;
  changed.set_failures(0);
  EXPECT_FALSE(CheckChange(before, changed).ok());
  changed = after;
  changed.mutable_generations(1)->mutable_placements(0)->set_node_id("m");
  EXPECT_FALSE(CheckChange(before, changed).ok());
  changed = after;
  changed.mutable_generations()->RemoveLast();
  EXPECT_FALSE(CheckChange(before, changed).ok());
}

TEST(JobInvariants, OfACancel) {
  EXPECT_TRUE(CheckCancelled(Running(), absl::FromUnixMillis(2'000)).ok());
  EXPECT_FALSE(CheckCancelled(Running(), absl::FromUnixMillis(1'999)).ok());
}

TEST(JobInvariants, OfATimeLimit) {
  const absl::Time end = absl::FromUnixSeconds(11);
  EXPECT_TRUE(CheckTimeLimit(Running(), absl::InfinitePast(), end + absl::Seconds(10)).ok());
  EXPECT_FALSE(CheckTimeLimit(Running(), absl::InfinitePast(), end + absl::Seconds(11)).ok());
  EXPECT_TRUE(CheckTimeLimit(Running(), end + absl::Seconds(10), end + absl::Seconds(11)).ok());
  v1::Job stopping = Running();
  stopping.set_phase(v1::STOPPING);
  EXPECT_TRUE(CheckTimeLimit(stopping, absl::InfinitePast(), end + absl::Seconds(11)).ok());
}

}  // namespace
}  // namespace accel::simulation
