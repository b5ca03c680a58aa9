// The control group's limit holds for a worker from its first instant, so a fork bomb is capped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "shim/shim_test_base.h"

namespace accel::shim {
namespace {

using ::testing::HasSubstr;

constexpr int kLimit = 20;

class ShimProcessesTest : public ShimTest {
 protected:
  ShimProcessesTest() : ShimTest(process::ProbeCgroups()) {}
  void SetUp() override {
    if (cgroups_.max_processes == 0) {
      GTEST_SKIP() << "this machine limits no processes for us, so nothing is tested here: "
                   << cgroups_.description;
    }
  }

  std::string FolderOf(const StartCommand& start) const {
    return cgroups_.pids_base.empty() ? cgroups_.PathFor(start.id) : cgroups_.PidsPathFor(start.id);
  }

  const process::CgroupSupport cgroups_ = process::ProbeCgroups();
};

TEST_F(ShimProcessesTest, AWorkerIsInItsGroupsBeforeItRuns) {
  const auto start = Script("cat /proc/self/cgroup");
  const GenerationReport report = RunToEnd(start);
  EXPECT_TRUE(report.workers[0].exit->ok());
  const std::string name = absl::StrCat("/accel/job-1-", cgroups_.instance, "\n");
  const std::string output = Output(start);
  if (!cgroups_.base.empty()) {
    EXPECT_THAT(output, HasSubstr(name));
  }
  if (!cgroups_.pids_base.empty()) {
    EXPECT_THAT(output, ::testing::ContainsRegex("pids:.*" + name));
  }
  if (!cgroups_.memory_base.empty()) {
    EXPECT_THAT(output, ::testing::ContainsRegex("memory:.*" + name));
  }
  struct stat info;
  EXPECT_NE(stat(FolderOf(start).c_str(), &info), 0) << "the folder is left";
}

// Each of the two workers alone would remain below the limit. The first leaves less to the second.
TEST_F(ShimProcessesTest, AForkBombIsCapped) {
  auto start = Script(
      "until [ $RANK = 0 ] || [ -e first ]; do sleep 0.01; done; i=0; "
      "while [ $i -lt 15 ]; do sleep 1000 & i=$((i + 1)); done; touch first; exec sleep 1001",
      2);
  start.max_processes = kLimit;
  Start(start);
  // A shell that cannot fork ends with 2.
  const ShimReport report = Await(start.id.job, [](const ShimReport& each) {
    return each.generation && each.generation->workers[1].exit.has_value();
  });
  EXPECT_EQ(report.generation->workers[1].exit->code, 2);
  EXPECT_LE(Living().size(), static_cast<size_t>(kLimit));
  EXPECT_GE(Living().size(), static_cast<size_t>(kLimit) - 2);
  ASSERT_TRUE(host().StopGeneration({start.id, absl::ZeroDuration()}).ok());
  AwaitState(start.id.job, GenerationReport::State::kEnded);
  EXPECT_TRUE(Living().empty());
  EXPECT_TRUE(RunToEnd(Script("exit 0")).workers[0].exit->ok()) << "the next one is hindered";
}

TEST_F(ShimProcessesTest, AFailureThatMayComeFromTheLimitSaysSo) {
  auto start = Script("for i in 1 2 3; do sleep 1000 & done; exit 0");
  start.max_processes = 2;
  const WorkerReport worker = RunToEnd(start).workers[0];
  EXPECT_EQ(worker.exit->code, 2);
  EXPECT_EQ(worker.exit->message,
            "its job reached the limit of 2 processes and threads on this node "
            "(accel-agent --max_processes)");
  EXPECT_EQ(RunToEnd(Script("exit 2")).workers[0].exit->message, "");
}

}  // namespace
}  // namespace accel::shim
