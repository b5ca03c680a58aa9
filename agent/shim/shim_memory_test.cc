// A worker that the kernel's out-of-memory killer struck is told from one that was killed
// otherwise, by the control group's own count (fault case 3).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/shim/shim_test_base.h"

namespace accel {
namespace {

constexpr char kLimit[] = "33554432";

class ShimMemoryTest : public testing::ShimTest {
 protected:
  ShimMemoryTest() : ShimTest(ProbeCgroups()) {}
  void SetUp() override {
    if (cgroups_.memory_base.empty()) {
      GTEST_SKIP() << "no folder of memory control groups: " << cgroups_.description;
    }
  }

  // The generation finds its memory control group made, with a limit.
  void Limit(GenerationStart* start) {
    start->memory_cgroup = cgroups_.MemoryPathFor(start->id);
    ASSERT_EQ(mkdir(start->memory_cgroup.c_str(), 0755), 0);
    std::ofstream(start->memory_cgroup + "/memory.limit_in_bytes") << kLimit;
  }

  // What waits until the worker is inside.
  std::string WhenInside(const GenerationStart& start, const std::string& command) {
    return absl::StrCat("until grep -q \"^$$\\$\" ", start.memory_cgroup,
                        "/cgroup.procs; do sleep 0.01; done; ", command);
  }

  const CgroupSupport cgroups_ = ProbeCgroups();
};

TEST_F(ShimMemoryTest, KilledByTheKernel) {
  auto start = Script("");
  Limit(&start);
  start.argv[2] = WhenInside(start, "exec tail /dev/zero");
  const GenerationReport report = RunToEnd(start);
  EXPECT_EQ(report.workers[0].exit->signal, SIGKILL);
  EXPECT_TRUE(report.workers[0].exit->out_of_memory);
  struct stat info;
  EXPECT_NE(stat(start.memory_cgroup.c_str(), &info), 0) << "the folder is left";
}

TEST_F(ShimMemoryTest, KilledByAPerson) {
  auto start = Script("");
  Limit(&start);
  start.argv[2] = WhenInside(start, "kill -KILL $$");
  const GenerationReport report = RunToEnd(start);
  EXPECT_EQ(report.workers[0].exit->signal, SIGKILL);
  EXPECT_FALSE(report.workers[0].exit->out_of_memory);
}

}  // namespace
}  // namespace accel
