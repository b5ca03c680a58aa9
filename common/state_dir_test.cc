#include "common/state_dir.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"

namespace accel::common {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class StateDirTest : public ::testing::Test {
 protected:
  StateDirTest() {
    std::string name = ::testing::TempDir() + "/state.XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~StateDirTest() override { std::filesystem::remove_all(root_); }

  std::string root_;
};

TEST_F(StateDirTest, IsMadeForTheOwnerAlone) {
  const auto lock = LockStateDir(root_ + "/a/b", "coordinator");
  ASSERT_OK(lock);
  struct stat info;
  ASSERT_EQ(stat((root_ + "/a/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(StateDirTest, HasOneHolderAtATime) {
  auto first = LockStateDir(root_, "coordinator");
  ASSERT_OK(first);
  EXPECT_THAT(LockStateDir(root_, "coordinator"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(absl::StrCat(getpid()))));
  EXPECT_OK(LockStateDir(root_, "agent"));
  first->reset();
  EXPECT_OK(LockStateDir(root_, "coordinator"));
}

TEST_F(StateDirTest, AStopEndsTheWaitForTheLock) {
  const auto holder = LockStateDir(root_, "agent");
  ASSERT_OK(holder);
  const UniqueFd stop(eventfd(1, EFD_CLOEXEC));  // Readable.
  EXPECT_THAT(LockStateDir(root_, "agent", absl::Hours(1), stop.get()),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("stop")));
}

TEST_F(StateDirTest, SaysWhatIsInTheWay) {
  EXPECT_THAT(LockStateDir("/dev/null/x", "coordinator"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/dev/null/x")));
}

}  // namespace
}  // namespace accel::common
