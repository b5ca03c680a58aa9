#include "shim/host/generation_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace accel::shim {
namespace {

using ::testing::ElementsAre;

StartCommand Start() {
  StartCommand start;
  start.id = {common::JobId("a"), 3};
  start.workers = {{.rank = 4, .local_rank = 0, .env = {}},
                   {.rank = 5, .local_rank = 1, .env = {}}};
  start.log_dir = "/jobs/a/gen_3";
  start.orphan_grace = absl::Seconds(5);
  start.keep_without_agent = true;
  return start;
}

process::CgroupSupport Groups() {
  process::CgroupSupport groups;
  groups.base = "/v2";
  groups.memory_base = "/memory";
  groups.pids_base = "/pids";
  groups.max_processes = 300;
  return groups;
}

// A user's shim, with the control groups that the agent has made for the job.
ShimRecord UsersShim() {
  ShimRecord shim;
  shim.uid = 1000;
  shim.job_cgroup = "/v2/job";
  shim.job_pids_cgroup = "/pids/job";
  return shim;
}

TEST(CompleteStartTest, AddsTheControlGroupsOfThisHost) {
  const StartCommand start = CompleteStart(Start(), ShimRecord(), Groups(), "");
  EXPECT_EQ(start.cgroup, Groups().PathFor(Start().id));
  EXPECT_EQ(start.memory_cgroup, Groups().MemoryPathFor(Start().id));
  EXPECT_EQ(start.pids_cgroup, Groups().PidsPathFor(Start().id));
  EXPECT_EQ(start.max_processes, 300);
  EXPECT_EQ(start.spill_dir, "");
}

TEST(CompleteStartTest, KeepsTheControlGroupsThatTheStartNames) {
  StartCommand named = Start();
  named.cgroup = "/mine";
  named.memory_cgroup = "/my_memory";
  named.pids_cgroup = "/my_pids";
  named.max_processes = 7;
  const StartCommand start = CompleteStart(named, ShimRecord(), Groups(), "");
  EXPECT_EQ(start.cgroup, "/mine");
  EXPECT_EQ(start.memory_cgroup, "/my_memory");
  EXPECT_EQ(start.pids_cgroup, "/my_pids");
  EXPECT_EQ(start.max_processes, 7);
}

TEST(CompleteStartTest, SpillsIntoTheLayoutOfTheLogs) {
  EXPECT_EQ(CompleteStart(Start(), ShimRecord(), {}, "/spill").spill_dir, "/spill/a/gen_3");
}

TEST(CompleteStartTest, TheShimOfAnotherUserGetsOnlyGroupsInsideThoseOfItsJob) {
  StartCommand named = Start();
  named.cgroup = "/mine";
  named.memory_cgroup = "/my_memory";
  named.pids_cgroup = "/my_pids";
  named.max_processes = 7;
  const StartCommand start = CompleteStart(named, UsersShim(), Groups(), "/spill");
  EXPECT_EQ(start.cgroup, "/v2/job/g3");
  EXPECT_EQ(start.memory_cgroup, "");  // The job has no memory group.
  EXPECT_EQ(start.pids_cgroup, "/pids/job/g3");
  EXPECT_EQ(start.spill_dir, "");
}

TEST(RecordOfStartTest, DescribesTheNewGenerationAndKeepsTheShim) {
  ShimRecord shim = UsersShim();
  shim.pid = 7;
  shim.generation = 2;
  shim.ranks = {0, 1, 2};
  StartCommand start = Start();
  start.cgroup = "/v2/job/g3";
  start.memory_cgroup = "/memory/job/g3";
  start.pids_cgroup = "/pids/job/g3";
  const ShimRecord record = RecordOfStart(start, shim);
  EXPECT_EQ(record.pid, 7);
  EXPECT_EQ(record.uid, 1000u);
  EXPECT_EQ(record.job_cgroup, "/v2/job");
  EXPECT_EQ(record.generation, 3);
  EXPECT_THAT(record.ranks, ElementsAre(4, 5));
  EXPECT_EQ(record.log_dir, "/jobs/a/gen_3");
  EXPECT_EQ(record.cgroup, "/v2/job/g3");
  EXPECT_EQ(record.memory_cgroup, "/memory/job/g3");
  EXPECT_EQ(record.pids_cgroup, "/pids/job/g3");
  EXPECT_EQ(record.orphan_grace, absl::Seconds(5));
  EXPECT_TRUE(record.keep_without_agent);
  EXPECT_FALSE(record.requires_contact);
}

TEST(RecordOfStartTest, AFiniteTimeWithoutContactRequiresContact) {
  StartCommand start = Start();
  start.stop_on_disconnect_after = absl::Seconds(5);
  EXPECT_TRUE(RecordOfStart(start, ShimRecord()).requires_contact);
}

}  // namespace
}  // namespace accel::shim
