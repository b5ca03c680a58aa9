#include "agent/state/job_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "common/status_matchers.h"

namespace accel::agent {
namespace {

const common::JobId kJob("j1");
const process::Account kAnn = {"ann", 61234, 61235, {61235}, "", ""};
const process::Account kBob = {"bob", 61236, 61237, {61237}, "", ""};

class JobFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
    char made[] = "/tmp/accel.XXXXXX";
    ASSERT_NE(mkdtemp(made), nullptr);
    dir_ = made;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string dir_ = "/nowhere";
};

TEST_F(JobFolderTest, BelongsToTheUserAlone) {
  ASSERT_OK(MakeJobFolder(dir_, kJob, kAnn));
  struct stat info = {};
  ASSERT_EQ(lstat((dir_ + "/j1").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kAnn.uid);
  EXPECT_EQ(info.st_gid, kAnn.gid);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_EQ(OwnerOfJobFolder(dir_, kJob)->uid, kAnn.uid);
  EXPECT_OK(MakeJobFolder(dir_, kJob, kAnn)) << "the next generation finds it";
}

TEST_F(JobFolderTest, IsNeverTakenFromItsOwner) {
  ASSERT_OK(MakeJobFolder(dir_, kJob, kAnn));
  EXPECT_TRUE(absl::IsFailedPrecondition(MakeJobFolder(dir_, kJob, kBob)));
  ASSERT_EQ(mkdir((dir_ + "/roots").c_str(), 0700), 0);
  EXPECT_FALSE(MakeJobFolder(dir_, common::JobId("roots"), kAnn).ok());
}

TEST_F(JobFolderTest, ALinkIsNotFollowed) {
  ASSERT_EQ(mkdir((dir_ + "/victim").c_str(), 0700), 0);
  ASSERT_EQ(symlink("victim", (dir_ + "/j1").c_str()), 0);
  EXPECT_FALSE(MakeJobFolder(dir_, kJob, kAnn).ok());
  struct stat info = {};
  ASSERT_EQ(lstat((dir_ + "/victim").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0u);
}

// If the test is root, it is another user meanwhile, because root may open any folder.
TEST(OwnJobFolderTest, AnAgentThatIsNotRootMakesOneForItself) {
  char made[] = "/tmp/accel.XXXXXX";
  ASSERT_NE(mkdtemp(made), nullptr);
  const bool is_root = geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(chown(made, kAnn.uid, kAnn.gid), 0);
    ASSERT_EQ(seteuid(kAnn.uid), 0);
  }
  process::Account self;
  self.name = "self";
  self.uid = geteuid();
  self.gid = getegid();
  EXPECT_OK(MakeJobFolder(made, kJob, self));
  EXPECT_OK(MakeJobFolder(made, kJob, self)) << "the next generation finds it";
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  struct stat info = {};
  ASSERT_EQ(lstat((std::string(made) + "/j1").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  std::filesystem::remove_all(made);
}

TEST_F(JobFolderTest, TheIdOfAJobIsNoPath) {
  for (const char* id : {"", "..", ".", "a/b"}) {
    EXPECT_FALSE(MakeJobFolder(dir_, common::JobId(id), kAnn).ok()) << id;
  }
}

// It may become any user's, so nobody's rights are right for what is below it.
TEST_F(JobFolderTest, AFolderThatIsMissingOrUnfinishedHasNoOwner) {
  EXPECT_EQ(OwnerOfJobFolder(dir_, kJob), std::nullopt);
  ASSERT_EQ(mkdir((dir_ + "/j1").c_str(), 0), 0);
  EXPECT_EQ(OwnerOfJobFolder(dir_, kJob), std::nullopt);
  ASSERT_OK(MakeJobFolder(dir_, kJob, kAnn)) << "an agent was killed while it made the folder";
  EXPECT_EQ(OwnerOfJobFolder(dir_, kJob)->uid, kAnn.uid);
}

TEST_F(JobFolderTest, TheAgentsOwnIsClosedToo) {
  const process::Account self = {"root", geteuid(), getegid(), {getegid()}, "", ""};
  ASSERT_EQ(mkdir((dir_ + "/j1").c_str(), 0755), 0);
  ASSERT_OK(MakeJobFolder(dir_, kJob, self));
  struct stat info = {};
  ASSERT_EQ(lstat((dir_ + "/j1").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

}  // namespace
}  // namespace accel::agent
