#include "process/remove_below.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/unique_fd.h"

namespace accel::process {
namespace {

namespace fs = std::filesystem;

TEST(RemoveBelowTest, EmptiesTheFolderAndFollowsNoLink) {
  char made[] = "/tmp/accel.XXXXXX";
  ASSERT_NE(mkdtemp(made), nullptr);
  const fs::path root = made;
  fs::create_directories(root / "victim");
  std::ofstream(root / "victim/file") << "kept";
  fs::create_directories(root / "jobs/a/b");
  std::ofstream(root / "jobs/a/b/file") << "x";
  fs::create_directories(root / "jobs/closed");
  std::ofstream(root / "jobs/closed/file") << "x";
  fs::permissions(root / "jobs/closed", fs::perms::none);
  fs::create_symlink(root / "victim", root / "jobs/a/link");
  fs::create_symlink(root / "victim/file", root / "jobs/link");
  ASSERT_EQ(mkfifo((root / "jobs/fifo").c_str(), 0600), 0);
  const common::UniqueFd folder(open((root / "jobs").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  RemoveBelow(folder.get());
  EXPECT_TRUE(fs::is_empty(root / "jobs"));
  EXPECT_TRUE(fs::exists(root / "victim/file"));
  fs::remove_all(root);
}

TEST(RemoveBelowTest, IsBoundedInDepth) {
  char made[] = "/tmp/accel.XXXXXX";
  ASSERT_NE(mkdtemp(made), nullptr);
  fs::path deepest = made;
  for (int i = 0; i < 80; ++i) deepest /= "d";
  fs::create_directories(deepest);
  const common::UniqueFd folder(open(made, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  RemoveBelow(folder.get());
  EXPECT_FALSE(fs::is_empty(made));
  fs::remove_all(made);
}

}  // namespace
}  // namespace accel::process
