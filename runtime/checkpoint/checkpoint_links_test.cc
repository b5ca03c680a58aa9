// Checkpoints that are reached through symbolic links or hold some, and mount points.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "runtime/checkpoint/commit.h"
#include "runtime/checkpoint/folder_paths.h"
#include "runtime/checkpoint/retention.h"
#include "runtime/checkpoint/verify.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class CheckpointLinksTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(parent_);
    fs::create_directories(parent_);
  }

  static void save(const fs::path& folder, const std::string& content) {
    begin_checkpoint(folder);
    const CheckpointFile file{.name = "model.safetensors",
                              .write = [&](const ByteSink& sink) { sink(content); }};
    commit_checkpoint(folder, {file}, {});
  }

  static std::string content_of(const fs::path& folder) {
    EXPECT_NO_THROW(verify_checkpoint(folder));
    std::ifstream stream(folder / "model.safetensors");
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  const fs::path parent_ = fs::path(testing::TempDir()) / "links";
};

TEST_F(CheckpointLinksTest, ASaveReplacesTheTargetOfTheLink) {
  const fs::path target = parent_ / "elsewhere/checkpoint_1", link = parent_ / "latest";
  save(target, "old");
  fs::create_directory_symlink("elsewhere/checkpoint_1", link);
  EXPECT_EQ(partial_folder(link), partial_folder(target));
  save(link / "", "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(content_of(target), "new");
  EXPECT_EQ(content_of(link), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(parent_), {}), 2);
  EXPECT_EQ(std::distance(fs::directory_iterator(parent_ / "elsewhere"), {}), 1);
}

TEST_F(CheckpointLinksTest, ALinkThatLeadsNowhereIsRefused) {
  const fs::path link = parent_ / "latest";
  fs::create_directory_symlink("nowhere", link);
  try {
    begin_checkpoint(link);
    ADD_FAILURE() << "it was begun";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("latest: it is a symbolic link that leads nowhere"));
  }
  EXPECT_TRUE(fs::is_symlink(link));
}

TEST_F(CheckpointLinksTest, ALinkThatIsTooOldIsDeletedAndItsTargetKept) {
  const fs::path target = parent_ / "kept";
  save(target, "one");
  fs::create_directory_symlink(target, parent_ / "checkpoint_0");
  save(parent_ / "checkpoint_1", "two");
  delete_old_checkpoints(parent_ / "checkpoint_1", 1);
  EXPECT_FALSE(fs::exists(fs::symlink_status(parent_ / "checkpoint_0")));
  EXPECT_EQ(content_of(target), "one");
}

// Unlisted links may lead nowhere, in a circle, or to a folder on another file system.
TEST_F(CheckpointLinksTest, UnlistedLinksRemainLinks) {
  const fs::path folder = parent_ / "checkpoint_0";
  save(folder, "old");
  fs::create_directories(folder / "logs");
  for (const fs::path& place : {folder, folder / "logs"}) {
    fs::create_symlink("nowhere", place / "dangling");
    fs::create_symlink("circle", place / "circle");
    fs::create_directory_symlink("/proc/self", place / "elsewhere");
  }
  save(folder, "new");
  EXPECT_EQ(content_of(folder), "new");
  for (const fs::path& place : {folder, folder / "logs"}) {
    EXPECT_EQ(fs::read_symlink(place / "dangling"), "nowhere");
    EXPECT_EQ(fs::read_symlink(place / "circle"), "circle");
    EXPECT_EQ(fs::read_symlink(place / "elsewhere"), "/proc/self");
  }
}

TEST_F(CheckpointLinksTest, AMountPointIsRefusedBeforeAnythingIsWritten) {
  const fs::path mount = "/dev/shm";
  struct stat status {};
  struct stat parent {};
  if (stat(mount.c_str(), &status) != 0 || stat("/dev", &parent) != 0 ||
      status.st_dev == parent.st_dev) {
    GTEST_SKIP() << "there is no file system at " << mount;
  }
  try {
    begin_checkpoint(mount);
    ADD_FAILURE() << "it was begun";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("/dev/shm: a file system is mounted there"),
                                    HasSubstr("save to a folder below it")));
  }
  EXPECT_FALSE(fs::exists("/dev/shm.partial"));
}

}  // namespace
}  // namespace accel::runtime
