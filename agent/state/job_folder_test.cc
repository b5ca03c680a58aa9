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
  EXPECT_EQ(OwnerOfJobFolder(dir_, kJob).uid, kAnn.uid);
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

TEST_F(JobFolderTest, TheIdOfAJobIsNoPath) {
  for (const char* id : {"", "..", ".", "a/b"}) {
    EXPECT_FALSE(MakeJobFolder(dir_, common::JobId(id), kAnn).ok()) << id;
  }
}

TEST_F(JobFolderTest, AMissingFolderIsTheAgents) {
  EXPECT_EQ(OwnerOfJobFolder(dir_, kJob).uid, geteuid());
}

}  // namespace
}  // namespace accel::agent
