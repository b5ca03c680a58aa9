#include "process/controllers.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace accel::process {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(HasControllerTest, NamesAreWhole) {
  EXPECT_TRUE(HasController("cpuset cpu io memory pids\n", "memory"));
  EXPECT_TRUE(HasController("memory", "memory"));
  EXPECT_FALSE(HasController("cpu hugememory memory2\n", "memory"));
  EXPECT_FALSE(HasController("", "memory"));
}

TEST(PlacesForGroupsTest, TheParentIsAPlaceOnlyIfDelegated) {
  EXPECT_THAT(PlacesForGroups("/cg/a.service", false), ElementsAre("/cg/a.service"));
  EXPECT_THAT(PlacesForGroups("/cg/a.service/agent", true),
              ElementsAre("/cg/a.service/agent", "/cg/a.service"));
}

// Files like the kernel's, in a folder of this test.
class HandDownTest : public ::testing::Test {
 protected:
  HandDownTest() : folder_(absl::StrCat(getenv("TEST_TMPDIR"), "/cgroup.XXXXXX")) {
    mkdtemp(folder_.data());
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(absl::StrCat(folder_, "/", name)) << text;
  }
  std::string Read(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(absl::StrCat(folder_, "/", name)).rdbuf();
    return text.str();
  }

  std::string folder_;
};

TEST_F(HandDownTest, EnablesOnlyTheControllerThatIsAskedFor) {
  Write("cgroup.controllers", "cpu io memory pids\n");
  Write("cgroup.subtree_control", "");
  EXPECT_EQ(HandDown(kMemoryController, folder_), "");
  EXPECT_EQ(Read("cgroup.subtree_control"), "+memory");
  Write("cgroup.subtree_control", "");
  EXPECT_EQ(HandDown(kPidsController, folder_), "");
  EXPECT_EQ(Read("cgroup.subtree_control"), "+pids");
}

TEST_F(HandDownTest, DoesNothingIfMemoryIsEnabled) {
  Write("cgroup.subtree_control", "cpu memory\n");
  EXPECT_EQ(HandDown(kMemoryController, folder_), "");
  EXPECT_EQ(Read("cgroup.subtree_control"), "cpu memory\n");
}

TEST_F(HandDownTest, SaysWhatIsMissing) {
  Write("cgroup.controllers", "cpu pids\n");
  Write("cgroup.subtree_control", "cpu\n");
  EXPECT_EQ(HandDown(kMemoryController, folder_),
            absl::StrCat(folder_, " has no memory controller"));
  EXPECT_EQ(Read("cgroup.subtree_control"), "cpu\n");
}

TEST_F(HandDownTest, LeavesAGroupAloneThatContainsProcesses) {
  Write("cgroup.controllers", "memory pids\n");
  Write("cgroup.subtree_control", "");
  Write("cgroup.type", "domain\n");
  Write("cgroup.procs", "4711\n");
  for (const absl::string_view controller : {kMemoryController, kPidsController}) {
    EXPECT_EQ(HandDown(controller, folder_), absl::StrCat(folder_, " contains processes"));
  }
  EXPECT_EQ(Read("cgroup.subtree_control"), "");
  Write("cgroup.procs", "");
  EXPECT_EQ(HandDown(kPidsController, folder_), "");
}

TEST_F(HandDownTest, SaysWhatItMayNotDo) {
  Write("cgroup.controllers", "memory\n");
  mkdir(absl::StrCat(folder_, "/cgroup.subtree_control").c_str(), 0755);
  EXPECT_THAT(HandDown(kMemoryController, folder_), HasSubstr("may not write "));
  EXPECT_THAT(HandDown(kMemoryController, folder_), EndsWith("Is a directory"));
}

}  // namespace
}  // namespace accel::process
