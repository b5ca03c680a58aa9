#include "process/cgroup.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "process/max_processes.h"
#include "process/spawn.h"

namespace accel::process {
namespace {

TEST(CgroupSupportTest, EachGenerationHasASingleFolderName) {
  CgroupSupport support;
  EXPECT_EQ(support.PathFor({common::JobId("job"), 1}), "");
  support.base = "/base";
  support.instance = "7-8";
  EXPECT_EQ(support.PathFor({common::JobId("job"), 12}), "/base/job-12-7-8");
  EXPECT_EQ(support.PathFor({common::JobId("../a b"), 1}), "/base/.._a_b-1-7-8");
  EXPECT_EQ(support.MemoryPathFor({common::JobId("job"), 12}), "");
  EXPECT_EQ(support.PidsPathFor({common::JobId("job"), 12}), "");
  support.pids_base = "/pids";
  EXPECT_EQ(support.PidsPathFor({common::JobId("job"), 12}), "/pids/job-12-7-8");
  EXPECT_EQ(support.JobPidsPathFor(common::JobId("job")), "/pids/user-job-7-8");
}

TEST(CgroupSupportTest, ALimitCanBeChosenWhereThereIsOne) {
  CgroupSupport support;
  EXPECT_TRUE(support.ChooseMaxProcesses(0));
  EXPECT_FALSE(support.ChooseMaxProcesses(300));
  EXPECT_EQ(support.max_processes, 0);
  support.max_processes = 1000;
  EXPECT_TRUE(support.ChooseMaxProcesses(0));
  EXPECT_EQ(support.max_processes, 1000);
  EXPECT_TRUE(support.ChooseMaxProcesses(300));
  EXPECT_EQ(support.max_processes, 300);
}

TEST(CgroupSupportTest, CanBeTurnedOff) {
  setenv("ACCEL_CGROUP", "none", 1);
  const CgroupSupport support = ProbeCgroups();
  unsetenv("ACCEL_CGROUP");
  EXPECT_EQ(support.base, "");
  EXPECT_EQ(support.memory_base, "");
  EXPECT_EQ(support.pids_base, "");
  EXPECT_EQ(support.max_processes, 0);
  EXPECT_EQ(support.description, "none: turned off by ACCEL_CGROUP=none");
}

TEST(CgroupTest, NoneDoesNothing) {
  Cgroup none = Cgroup::Make("");
  none.Kill();
  none.LimitProcesses(5);
  EXPECT_EQ(none.fd(), -1);
  EXPECT_FALSE(none.OpenTasks().valid());
  EXPECT_EQ(none.RefusedForks(), 0);
  EXPECT_EQ(none.OomKills(), 0);
  EXPECT_TRUE(none.Remove());
  EXPECT_EQ(Cgroup::Make("/no/such/folder/below").fd(), -1);
}

class RealCgroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support_.base.empty()) GTEST_SKIP() << "no control groups: " << support_.description;
  }

  const CgroupSupport support_ = ProbeCgroups();
};

// Checks whichever hierarchy counts here, or else the reason why none does.
TEST_F(RealCgroupTest, SaysWhetherItCountsOutOfMemoryKills) {
  if (!support_.counts_oom_kills) {
    EXPECT_TRUE(absl::EndsWith(support_.description, "; out-of-memory kills are not counted"));
    return;
  }
  EXPECT_FALSE(absl::StrContains(support_.description, "not counted"));
  const bool v1 = !support_.memory_base.empty();
  const common::GenerationId id = {common::JobId("cgroup-memory-test"), 1};
  const std::string path = v1 ? support_.MemoryPathFor(id) : support_.PathFor(id);
  Cgroup cgroup = Cgroup::Make(path);
  struct stat info;
  const char* file = v1 ? "/memory.oom_control" : "/memory.events";
  EXPECT_EQ(stat(absl::StrCat(path, file).c_str(), &info), 0);
  EXPECT_TRUE(cgroup.Remove());
}

// As above.
TEST_F(RealCgroupTest, SaysWhetherItLimitsProcesses) {
  const bool says_no = absl::StrContains(support_.description, "; the number of processes is not");
  EXPECT_EQ(support_.max_processes == 0, says_no) << support_.description;
  if (says_no) GTEST_SKIP() << "no limit of processes is tested: " << support_.description;
  EXPECT_GE(support_.max_processes, kLeastMaxProcesses);
}

TEST_F(RealCgroupTest, AProcessIsInsideBeforeItCanStartAnother) {
  if (support_.max_processes == 0) GTEST_SKIP() << "no limit: " << support_.description;
  const common::GenerationId id = {common::JobId("cgroup-pids-test"), 1};
  const bool v1 = !support_.pids_base.empty();
  Cgroup cgroup = Cgroup::Make(v1 ? support_.PidsPathFor(id) : support_.PathFor(id));
  cgroup.LimitProcesses(1);
  const common::UniqueFd tasks = cgroup.OpenTasks();
  EXPECT_EQ(tasks.valid(), v1);
  SpawnOptions options;
  options.path = "/bin/sh";
  options.argv = {"sh", "-c", "(exit 0); exit 5"};  // The shell needs a process for the brackets.
  options.fds = {{0, 0}, {1, 1}, {2, 2}};
  if (v1) options.entered_groups = {tasks.get()};
  if (!v1) options.cgroup_fd = cgroup.fd();
  EXPECT_EQ(cgroup.RefusedForks(), 0);
  const SpawnResult result = Spawn(options, false);
  ASSERT_TRUE(result.ok());
  int status = 0;
  EXPECT_EQ(waitpid(result.pid, &status, 0), result.pid);
  EXPECT_EQ(WEXITSTATUS(status), 2) << "it has started another";
  EXPECT_GE(cgroup.RefusedForks(), 1);
  EXPECT_TRUE(cgroup.Remove());
}

TEST_F(RealCgroupTest, ProcessesInAGroupOfV1AreKilledOneByOne) {
  if (support_.pids_base.empty()) GTEST_SKIP() << "no v1: " << support_.description;
  Cgroup cgroup = Cgroup::Make(support_.PidsPathFor({common::JobId("cgroup-kill-test"), 1}));
  const common::UniqueFd tasks = cgroup.OpenTasks();
  SpawnOptions options;
  options.path = "/bin/sleep";
  options.argv = {"sleep", "1000"};
  options.fds = {{0, 0}, {1, 1}, {2, 2}};
  options.entered_groups = {tasks.get()};
  const SpawnResult result = Spawn(options, false);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(cgroup.Remove());
  cgroup.Kill();
  int status = 0;
  EXPECT_EQ(waitpid(result.pid, &status, 0), result.pid);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(cgroup.Remove());
}

TEST_F(RealCgroupTest, ProbeLeavesNothing) {
  struct stat info;
  EXPECT_EQ(stat(support_.base.c_str(), &info), 0);
  EXPECT_NE(stat(absl::StrCat(support_.base, "/probe-", support_.instance).c_str(), &info), 0);
}

TEST_F(RealCgroupTest, ProcessesAreBornInsideAndKilledInside) {
  const std::string path = support_.PathFor({common::JobId("cgroup-test"), 1});
  Cgroup cgroup = Cgroup::Make(path);
  ASSERT_GE(cgroup.fd(), 0);
  SpawnOptions options;
  options.path = "/bin/sleep";
  options.argv = {"sleep", "1000"};
  options.fds = {{0, 0}, {1, 1}, {2, 2}};
  options.cgroup_fd = cgroup.fd();
  const SpawnResult result = Spawn(options, false);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.in_cgroup);
  EXPECT_FALSE(cgroup.Remove()) << "someone is inside";
  mkdir(absl::StrCat(path, "/below").c_str(), 0755);  // As a worker may do.
  cgroup.Kill();
  int status = 0;
  EXPECT_EQ(waitpid(result.pid, &status, 0), result.pid);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(cgroup.Remove());
  struct stat info;
  EXPECT_NE(stat(path.c_str(), &info), 0);
}

TEST_F(RealCgroupTest, ChildThatCannotBeBornInsideIsBornOutside) {
  SpawnOptions options;
  options.path = "/bin/true";
  options.argv = {"true"};
  options.fds = {{0, 0}, {1, 1}, {2, 2}};
  options.cgroup_fd = STDERR_FILENO;  // Not a control group.
  const SpawnResult result = Spawn(options, false);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result.in_cgroup);
  EXPECT_EQ(waitpid(result.pid, nullptr, 0), result.pid);
}

}  // namespace
}  // namespace accel::process
