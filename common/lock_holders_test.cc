#include "common/lock_holders.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"

namespace accel::common {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LockHolders, ShareTheOpenFileAndDoNotWait) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/lock";
  UniqueFd locked(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(locked.valid());
  EXPECT_THAT(LockHolders(path), IsEmpty());
  ASSERT_EQ(flock(locked.get(), LOCK_EX), 0);
  const UniqueFd waits(open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_THAT(LockHolders(path), ElementsAre(getpid()));

  const pid_t child = fork();  // It inherits the lock.
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_THAT(LockHolders(path), ElementsAre(getpid(), child));
  locked.reset();
  EXPECT_THAT(LockHolders(path), ElementsAre(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(LockHolders(path), IsEmpty());
}

TEST(LockHolders, TheWriterIsNamedUnlessOthersHoldItsLock) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/named";
  const UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(file.valid());
  EXPECT_EQ(DescribeLockHolder(file.get(), path), "of unknown id");
  ASSERT_TRUE(WriteLockHolder(file.get()));
  EXPECT_EQ(DescribeLockHolder(file.get(), path), absl::StrCat(getpid())) << "no holder is seen";
  ASSERT_EQ(flock(file.get(), LOCK_EX), 0);
  EXPECT_EQ(DescribeLockHolder(file.get(), path), absl::StrCat(getpid()));
  ASSERT_EQ(pwrite(file.get(), "1\n", 2, 0), 2);
  ASSERT_EQ(ftruncate(file.get(), 2), 0);
  EXPECT_EQ(DescribeLockHolder(file.get(), path), absl::StrCat(getpid())) << "inherited";
}

TEST(LockHolders, OfAMissingFileAreEmpty) { EXPECT_THAT(LockHolders("/no/such/file"), IsEmpty()); }

}  // namespace
}  // namespace accel::common
