#include "cli/launch_dir.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status_matchers.h"

namespace accel::cli {
namespace {

namespace fs = std::filesystem;

class LaunchDirTest : public ::testing::Test {
 protected:
  LaunchDirTest()
      : tmp_(absl::StrCat(std::getenv("TEST_TMPDIR"), "/",
                          ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(tmp_);
  }

  // Starts a process that has the mark in its environment, as a worker of the launch
  // with this folder.
  static pid_t StartWorker(const std::string& mark) {
    int started[2];
    ACCEL_CHECK(pipe2(started, O_CLOEXEC) == 0, "a test has descriptors left");
    const pid_t pid = fork();
    if (pid != 0) {
      close(started[1]);
      char end;
      ACCEL_CHECK(read(started[0], &end, 1) == 0, "the end of the pipe is the exec");
      close(started[0]);
      return pid;
    }
    const std::string entry = mark + "gen_1/rank_0/error.json";
    const char* const argv[] = {"sleep", "1000", nullptr};
    const char* const env[] = {entry.c_str(), nullptr};
    execve("/bin/sleep", const_cast<char**>(argv), const_cast<char**>(env));
    _exit(127);
  }

  static std::string MarkOf(const std::string& folder) {
    return absl::StrCat("TORCHELASTIC_ERROR_FILE=", folder, "/job/");
  }

  // Starts a launch that is killed right after Note(). Returns its folder.
  std::string KilledLaunch() const {
    int pipe_fds[2];
    ACCEL_CHECK(pipe(pipe_fds) == 0, "a test has descriptors left");
    const pid_t launch = fork();
    if (launch == 0) {
      auto dir = LaunchDir::Make(tmp_);
      ACCEL_CHECK(dir.ok() && (*dir)->Note(MarkOf((*dir)->path()), {}).ok(), "a test can write");
      ACCEL_CHECK(write(pipe_fds[1], (*dir)->path().data(), (*dir)->path().size()) > 0, "as above");
      raise(SIGKILL);
    }
    char path[4096];
    const ssize_t size = read(pipe_fds[0], path, sizeof(path));
    waitpid(launch, nullptr, 0);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return std::string(path, static_cast<size_t>(size));
  }

  const std::string tmp_;
};

TEST_F(LaunchDirTest, IsRemovedWithItsLaunch) {
  std::string path;
  {
    const auto dir = LaunchDir::Make(tmp_);
    ASSERT_OK(dir);
    path = (*dir)->path();
    EXPECT_TRUE(fs::is_directory(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(LaunchDirTest, IsSweptWithTheProcessesOfADeadLaunch) {
  const std::string path = KilledLaunch();
  const pid_t worker = StartWorker(MarkOf(path));
  const pid_t stranger = StartWorker(MarkOf(path + "-of-another"));
  const std::vector<DeadLaunch> swept = SweepDeadLaunches(tmp_);
  ASSERT_EQ(swept.size(), 1u);
  EXPECT_EQ(swept[0].path, path);
  EXPECT_GE(swept[0].processes, 1);
  EXPECT_FALSE(fs::exists(path));
  kill(stranger, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(stranger, &status, 0), stranger);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  ASSERT_EQ(waitpid(worker, &status, 0), worker);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(LaunchDirTest, IsKeptWhileItsLaunchLives) {
  const auto dir = LaunchDir::Make(tmp_);
  ASSERT_OK(dir);
  ASSERT_OK((*dir)->Note(MarkOf((*dir)->path()), {}));
  EXPECT_TRUE(SweepDeadLaunches(tmp_).empty());
  EXPECT_TRUE(fs::is_directory((*dir)->path()));
}

TEST_F(LaunchDirTest, IsKeptWhileItsShimLives) {
  const std::string path = KilledLaunch();
  // A shim holds the same lock, also after the death of the launch.
  const common::UniqueFd shim(open(absl::StrCat(path, "/launch").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(shim.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_TRUE(SweepDeadLaunches(tmp_).empty());
  EXPECT_TRUE(fs::is_directory(path));
}

TEST_F(LaunchDirTest, FoldersOfOthersAreKept) {
  fs::create_directories(tmp_ + "/accel-launch-bare");   // Made by another version.
  fs::create_directories(tmp_ + "/accel-launch-empty");  // Its launch has not locked it yet.
  std::ofstream(tmp_ + "/accel-launch-empty/launch") << "";
  fs::create_directories(tmp_ + "/target");
  std::ofstream(tmp_ + "/target/launch") << "accel launch 1";
  fs::create_directory_symlink(tmp_ + "/target", tmp_ + "/accel-launch-link");
  fs::create_directories(tmp_ + "/other");
  std::ofstream(tmp_ + "/other/launch") << "accel launch 1";
  EXPECT_TRUE(SweepDeadLaunches(tmp_).empty());
  for (const char* name : {"accel-launch-bare", "accel-launch-empty", "target/launch", "other"}) {
    EXPECT_TRUE(fs::exists(tmp_ + "/" + name)) << name;
  }
}

TEST_F(LaunchDirTest, ARecordFullOfNonsenseEndsNothing) {
  const std::string path = tmp_ + "/accel-launch-nonsense";
  fs::create_directories(path);
  std::ofstream(path + "/launch") << "accel launch 1" << '\0' << "PATH=/" << '\0' << "/etc" << '\0'
                                  << "/etc" << '\0' << "1-2";
  const std::vector<DeadLaunch> swept = SweepDeadLaunches(tmp_);
  ASSERT_EQ(swept.size(), 1u);
  EXPECT_EQ(swept[0].processes, 0);
  EXPECT_TRUE(fs::exists("/etc/passwd"));
}

}  // namespace
}  // namespace accel::cli
