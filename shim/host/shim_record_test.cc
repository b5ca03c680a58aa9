#include "shim/host/shim_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/status_matchers.h"

namespace accel::shim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

ShimRecord Full() {
  ShimRecord record;
  record.boot_id = "boot";
  record.pid = 4711;
  record.start_time_ticks = UINT64_MAX;
  record.generation = 3;
  record.ranks = {4, 5};
  record.log_dir = "/logs with = and\na line/gen_3";
  record.cgroup = "/sys/fs/cgroup/accel/job";
  record.memory_cgroup = "/sys/fs/cgroup/memory/accel/job";
  record.pids_cgroup = "/sys/fs/cgroup/pids/accel/job";
  record.orphan_grace = absl::Milliseconds(1500);
  record.keep_without_agent = true;
  record.requires_contact = true;
  record.uid = 4'000'000'000;
  record.gid = 1001;
  record.job_cgroup = "/sys/fs/cgroup/accel/user-job";
  record.job_memory_cgroup = "/sys/fs/cgroup/memory/accel/user-job";
  record.job_pids_cgroup = "/sys/fs/cgroup/pids/accel/user-job";
  return record;
}

TEST(ShimRecord, Survives) {
  const auto record = ParseRecord(FormatRecord(Full()));
  ASSERT_OK(record);
  EXPECT_EQ(record->boot_id, "boot");
  EXPECT_EQ(record->pid, 4711);
  EXPECT_EQ(record->start_time_ticks, UINT64_MAX);
  EXPECT_EQ(record->generation, 3);
  EXPECT_THAT(record->ranks, ElementsAre(4, 5));
  EXPECT_EQ(record->log_dir, Full().log_dir);
  EXPECT_EQ(record->cgroup, Full().cgroup);
  EXPECT_EQ(record->memory_cgroup, Full().memory_cgroup);
  EXPECT_EQ(record->pids_cgroup, Full().pids_cgroup);
  EXPECT_EQ(record->orphan_grace, absl::Milliseconds(1500));
  EXPECT_TRUE(record->keep_without_agent);
  EXPECT_TRUE(record->requires_contact);
  EXPECT_EQ(record->uid, 4'000'000'000);
  EXPECT_EQ(record->gid, 1001u);
  EXPECT_EQ(record->job_cgroup, Full().job_cgroup);
  EXPECT_EQ(record->job_memory_cgroup, Full().job_memory_cgroup);
  EXPECT_EQ(record->job_pids_cgroup, Full().job_pids_cgroup);
}

// Records of older and newer releases can be read.
TEST(ShimRecord, FieldsMayBeMissingAndUnknown) {
  const auto record = ParseRecord("accel shim record 1\nboot_id=b\nnew=1\n\nno field\npid=x\n");
  ASSERT_OK(record);
  EXPECT_EQ(record->boot_id, "b");
  EXPECT_EQ(record->pid, 0);
  EXPECT_EQ(record->generation, 0);
  EXPECT_FALSE(record->keep_without_agent);
}

TEST(ShimRecord, OtherTextsAreRefused) {
  for (const char* text :
       {"", "accel shim record 2\npid=1\n", "accel launch 1", "accel shim record 1\npid=-5\n",
        "accel shim record 1\ngeneration=-1\n"}) {
    EXPECT_THAT(ParseRecord(text), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_))
        << text;
  }
  EXPECT_FALSE(ParseRecord("accel shim record 1\n" + std::string(1 << 20, 'x')).ok());
}

TEST(ShimRecord, NoChangedByteCrashesTheParser) {
  const std::string text = FormatRecord(Full());
  for (size_t i = 0; i < text.size(); ++i) {
    for (char value : {'\0', '\n', '=', '\\', '\xFF'}) {
      std::string changed = text;
      changed[i] = value;
      ParseRecord(changed).status().IgnoreError();
    }
    ParseRecord(text.substr(0, i)).status().IgnoreError();
  }
}

TEST(ShimRecord, TheReportHasEveryWorkerAndNoPid) {
  const GenerationReport report = ReportFrom(common::JobId("job"), Full());
  EXPECT_EQ(report.id, (common::GenerationId{common::JobId("job"), 3}));
  ASSERT_EQ(report.workers.size(), 2u);
  EXPECT_EQ(report.workers[1].rank, 5);
  EXPECT_EQ(report.workers[1].local_rank, 1);
  EXPECT_EQ(report.workers[1].pid, 0);
  EXPECT_EQ(report.orphan_grace, absl::Milliseconds(1500));
}

}  // namespace
}  // namespace accel::shim
