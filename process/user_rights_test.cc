#include "process/user_rights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "common/unique_fd.h"

namespace accel::process {
namespace {

const Account kAnn = {"ann", 61234, 61235, {61235}, "/nonexistent", "/bin/sh"};

int OpenError(const std::string& path, int flags) {
  const common::UniqueFd file(open(path.c_str(), flags | O_CLOEXEC, 0600));
  return file.valid() ? 0 : errno;
}

class UserRightsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can have other rights";
  }
};

TEST_F(UserRightsTest, TakesRootsRightsAndGivesThemBack) {
  char folder[] = "/tmp/accel.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  ASSERT_EQ(chmod(folder, 0777), 0);
  const std::string own = std::string(folder) + "/own";
  const std::string link = std::string(folder) + "/link";
  ASSERT_EQ(symlink("/etc/shadow", link.c_str()), 0);
  {
    const UserRights rights(kAnn);
    EXPECT_EQ(OpenError("/etc/shadow", O_RDONLY), EACCES);
    EXPECT_EQ(OpenError(link, O_RDONLY), EACCES) << "a link that the user has planted";
    EXPECT_EQ(OpenError(own, O_WRONLY | O_CREAT), 0);
    int other = -1;
    std::thread([&other, &link] { other = OpenError(link, O_RDONLY); }).join();
    EXPECT_EQ(other, EACCES) << "threads that are started meanwhile inherit the user's rights";
  }
  struct stat info = {};
  ASSERT_EQ(stat(own.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kAnn.uid);
  EXPECT_EQ(info.st_gid, kAnn.gid);
  EXPECT_EQ(OpenError(link, O_RDONLY), 0) << "root's rights are back";
  for (const std::string& path : {own, link}) unlink(path.c_str());
  rmdir(folder);
}

TEST_F(UserRightsTest, OtherThreadsKeepTheirs) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  int other = -1;
  std::thread waiting([&] {
    char go = 0;
    if (read(ends[0], &go, 1) == 1) other = OpenError("/etc/shadow", O_RDONLY);
  });
  {
    const UserRights rights(kAnn);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    waiting.join();
  }
  EXPECT_EQ(other, 0);
  close(ends[0]);
  close(ends[1]);
}

// Can fail only where fs.suid_dumpable is not 0, as on systems that collect core files.
TEST_F(UserRightsTest, AnUndumpableProcessRemainsSo) {
  const int before = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  ASSERT_EQ(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
  {
    const UserRights rights(kAnn);
    EXPECT_EQ(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
  }
  EXPECT_EQ(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
  prctl(PR_SET_DUMPABLE, before == 1 ? 1 : 0, 0, 0, 0);
}

}  // namespace
}  // namespace accel::process
