// The control group's own counter distinguishes workers that the kernel's out-of-memory killer
// killed from workers that were killed otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "shim/shim_test_base.h"

namespace accel::shim {
namespace {

using ::testing::ContainsRegex;

constexpr char kLimit[] = "33554432";

class ShimMemoryTest : public ShimTest {
 protected:
  ShimMemoryTest() : ShimTest(process::ProbeCgroups()) {}
  void SetUp() override {
    if (!cgroups_.counts_oom_kills) {
      GTEST_SKIP() << "this machine does not count out-of-memory kills for us, so nothing is "
                      "tested here: "
                   << cgroups_.description;
    }
  }

  // Makes the generation's control group with a memory limit before the shim finds it: in v1 if
  // there is one, and otherwise in v2.
  void Limit(StartCommand* start) {
    const bool v1 = !cgroups_.memory_base.empty();
    folder_ = v1 ? cgroups_.MemoryPathFor(start->id) : cgroups_.PathFor(start->id);
    (v1 ? start->memory_cgroup : start->cgroup) = folder_;
    ASSERT_EQ(mkdir(folder_.c_str(), 0755), 0);
    std::ofstream(folder_ + (v1 ? "/memory.limit_in_bytes" : "/memory.max")) << kLimit;
  }

  std::string folder_;
  const process::CgroupSupport cgroups_ = process::ProbeCgroups();
};

TEST_F(ShimMemoryTest, KilledByTheKernel) {
  auto start = Script("exec tail /dev/zero");
  Limit(&start);
  const GenerationReport report = RunToEnd(start);
  EXPECT_EQ(report.workers[0].exit->signal, SIGKILL);
  EXPECT_TRUE(report.workers[0].exit->out_of_memory);
  // The kernel kills when the memory cannot grow beyond the limit. Of the peak, the last page or a
  // few more may be missing.
  EXPECT_THAT(report.workers[0].exit->message,
              ContainsRegex("memory of its job on this node had a peak of 3[12]\\.[0-9] MiB, the "
                            "limit is 32\\.0 MiB"));
  struct stat info;
  EXPECT_NE(stat(folder_.c_str(), &info), 0) << "the folder is left";
}

TEST_F(ShimMemoryTest, KilledByAPerson) {
  auto start = Script("kill -KILL $$");
  Limit(&start);
  const GenerationReport report = RunToEnd(start);
  EXPECT_EQ(report.workers[0].exit->signal, SIGKILL);
  EXPECT_FALSE(report.workers[0].exit->out_of_memory);
  EXPECT_EQ(report.workers[0].exit->message, "");
}

}  // namespace
}  // namespace accel::shim
