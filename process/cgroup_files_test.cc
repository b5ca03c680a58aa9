#include "process/cgroup_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "absl/strings/str_cat.h"

namespace accel::process {
namespace {

constexpr char kHybrid[] =
    "9:name=systemd:/system.slice/x.service\n5:cpu,cpuacct:/a\n4:memory:/b:c\n0::/user.slice/y\n";

TEST(CgroupPathTest, FindsTheHierarchy) {
  EXPECT_EQ(CgroupPathIn(kHybrid, "").value(), "/user.slice/y");
  EXPECT_EQ(CgroupPathIn(kHybrid, "memory").value(), "/b:c");
  EXPECT_EQ(CgroupPathIn(kHybrid, "cpuacct").value(), "/a");
  EXPECT_EQ(CgroupPathIn("0::/\n", "").value(), "");
  EXPECT_FALSE(CgroupPathIn(kHybrid, "pids").has_value());
  EXPECT_FALSE(CgroupPathIn("nonsense\n\n:", "").has_value());
}

TEST(CountTest, FindsTheKey) {
  EXPECT_EQ(CountIn("oom 1\noom_kill 23\n", "oom_kill"), 23);
  EXPECT_EQ(CountIn("oom_kill_disable 0\nunder_oom 0\n", "oom_kill"), std::nullopt);
  EXPECT_EQ(CountIn("oom_kill x\n", "oom_kill"), std::nullopt);
}

TEST(NumberTest, IsTheWholeText) {
  EXPECT_EQ(NumberIn("52428800\n"), 52428800);
  EXPECT_EQ(NumberIn("0"), 0);
  EXPECT_EQ(NumberIn("9223372036854771712\n"), std::nullopt) << "v1 without a limit";
  for (const char* text : {"max\n", "", "5 6", "-1", "99999999999999999999"}) {
    EXPECT_EQ(NumberIn(text), std::nullopt) << text;
  }
}

// Files like the kernel's, in folders of this test.
class SmallestLimitTest : public ::testing::Test {
 protected:
  SmallestLimitTest() : top_(absl::StrCat(getenv("TEST_TMPDIR"), "/cgroup.XXXXXX")) {
    mkdtemp(top_.data());
    mkdir(absl::StrCat(top_, "/a").c_str(), 0755);
    mkdir(absl::StrCat(top_, "/a/b").c_str(), 0755);
  }
  void Write(const std::string& group, const std::string& text) {
    std::ofstream(absl::StrCat(top_, group, "/pids.max")) << text;
  }
  std::optional<int64_t> Smallest() { return SmallestLimit(top_ + "/a/b", "pids.max"); }

  std::string top_;
};

TEST_F(SmallestLimitTest, MayBeThatOfAnyGroupAbove) {
  EXPECT_EQ(Smallest(), std::nullopt);
  Write("", "500\n");
  EXPECT_EQ(Smallest(), 500);
  Write("/a/b", "max\n");
  EXPECT_EQ(Smallest(), 500);
  Write("/a", "70\n");
  EXPECT_EQ(Smallest(), 70);
  Write("/a/b", "9\n");
  EXPECT_EQ(Smallest(), 9);
}

TEST(GroupFileTest, IsReadAndWrittenInItsFolder) {
  std::string folder = absl::StrCat(getenv("TEST_TMPDIR"), "/files.XXXXXX");
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT_FALSE(WriteGroupFile(fd, "pids.max", "1")) << "the kernel makes the files of a group";
  std::ofstream(folder + "/pids.max") << "max";
  EXPECT_TRUE(WriteGroupFile(fd, "pids.max", "300"));
  EXPECT_EQ(ReadGroupFile(fd, "pids.max"), "300");
  EXPECT_EQ(ReadGroupFile(fd, "none"), "");
}

}  // namespace
}  // namespace accel::process
