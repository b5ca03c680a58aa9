// A child that becomes another user. Uids and gids that no account of the machine has are enough,
// because the kernel knows no accounts.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "common/unique_fd.h"
#include "process/spawn.h"

namespace accel::process {
namespace {

constexpr uid_t kUid = 61234;
constexpr gid_t kGid = 61235;

class SpawnUserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root may start processes of others";
  }

  static SpawnOptions Shell(const std::string& script) {
    SpawnOptions options;
    options.path = "/bin/sh";
    options.argv = {"sh", "-c", script};
    options.fds = {{0, 0}, {1, 1}, {2, 2}};
    options.env = {"PATH=/usr/bin:/bin"};
    options.workdir = "/";
    options.user = Account{"ann", kUid, kGid, {kGid, 61236}, "/nonexistent", "/bin/sh"};
    return options;
  }

  // Returns the exit code of the script, or -1 if it was not started.
  static int Run(const SpawnOptions& options) {
    const SpawnResult result = Spawn(options, false);
    if (!result.ok()) return -1;
    int status = 0;
    EXPECT_EQ(waitpid(result.pid, &status, 0), result.pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
};

TEST_F(SpawnUserTest, HasTheUsersIdsAndNoOther) {
  EXPECT_EQ(Run(Shell("[ \"$(id -u) $(id -g) $(id -G)\" = '61234 61235 61235 61236' ]")), 0);
  EXPECT_EQ(Run(Shell("grep -q '^Uid:.61234.61234.61234.61234$' /proc/self/status && "
                      "grep -q '^Gid:.61235.61235.61235.61235$' /proc/self/status")),
            0);
  EXPECT_EQ(geteuid(), 0u) << "the caller remains root";
  EXPECT_EQ(Run(Shell("[ \"$(umask)\" = 0022 ]")), 0);
}

TEST_F(SpawnUserTest, HasNoCapabilitiesAndGainsNone) {
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_EQ(Run(Shell(std::string("grep -q '^") + set + ":.0*$' /proc/self/status")), 0) << set;
  }
  EXPECT_EQ(Run(Shell("grep -q '^NoNewPrivs:.1$' /proc/self/status")), 0);
  EXPECT_NE(Run(Shell("cat /etc/shadow 2> /dev/null")), 0);
}

// A copy of `id` that belongs to root and has the setuid bit.
TEST_F(SpawnUserTest, ASetuidProgramGainsNothing) {
  char folder[] = "/tmp/accel.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string copy = std::string(folder) + "/id";
  ASSERT_EQ(system(("cp /usr/bin/id " + copy + " && chmod 4755 " + copy + " && chmod 755 " + folder)
                       .c_str()),
            0);
  EXPECT_EQ(Run(Shell("[ \"$(" + copy + " -u)\" = 61234 ]")), 0);
  unlink(copy.c_str());
  rmdir(folder);
}

TEST_F(SpawnUserTest, EntersTheWorkingDirectoryWithTheUsersRights) {
  char folder[] = "/tmp/accel.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);  // 0700, root's.
  SpawnOptions options = Shell("true");
  options.workdir = folder;
  const SpawnResult result = Spawn(options, false);
  EXPECT_EQ(result.error.step, SpawnError::Step::kWorkdir);
  EXPECT_EQ(result.error.error, EACCES);
  rmdir(folder);
}

TEST_F(SpawnUserTest, LeadsItsOwnSession) {
  const SpawnResult result = Spawn(Shell("exec sleep 1000"), false);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(getsid(result.pid), result.pid);
  EXPECT_EQ(getpgid(result.pid), result.pid);
  kill(result.pid, SIGKILL);
  EXPECT_EQ(waitpid(result.pid, nullptr, 0), result.pid);
}

TEST_F(SpawnUserTest, InheritsNoOtherDescriptor) {
  const common::UniqueFd secret(open("/etc/shadow", O_RDONLY));
  ASSERT_TRUE(secret.valid());
  EXPECT_EQ(Run(Shell("fd=3; while [ $fd -lt 64 ]; do [ -e /proc/self/fd/$fd ] && exit 1; "
                      "fd=$((fd + 1)); done")),
            0);
}

TEST_F(SpawnUserTest, PrivateSharedMemoryIsSeenByTheChildOnly) {
  SpawnOptions options = Shell(
      "touch /dev/shm/accel_spawn_user_test && "
      "[ \"$(ls /dev/shm)\" = accel_spawn_user_test ]");
  options.private_shared_memory = true;
  const SpawnResult result = Spawn(options, false);
  if (result.error.step == SpawnError::Step::kSharedMemory && !result.ok()) {
    GTEST_SKIP() << "mounts are not allowed here";
  }
  int status = 0;
  ASSERT_EQ(waitpid(result.pid, &status, 0), result.pid);
  EXPECT_EQ(status, 0);
  EXPECT_NE(access("/dev/shm/accel_spawn_user_test", F_OK), 0);
}

TEST_F(SpawnUserTest, SaysIfTheUserIsRefused) {
  SpawnOptions options = Shell("true");
  options.user->uid = static_cast<uid_t>(-1);  // No uid, so the kernel leaves it unchanged.
  const SpawnResult result = Spawn(options, false);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.error.step, SpawnError::Step::kUser);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no process is left";
}

// The user may stop the child before it executes its program, which must not hold the caller. Here
// a lease on the program holds the child at that point, because execve waits until it is given up.
TEST_F(SpawnUserTest, AChildThatIsHeldBeforeExecIsGivenUp) {
  char folder[] = "/tmp/accel.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string program = std::string(folder) + "/true";
  ASSERT_EQ(system(("cp /bin/true " + program + " && chmod 755 " + program + " " + folder).c_str()),
            0);
  signal(SIGIO, SIG_IGN);  // What the kernel tells the holder of the lease with.
  const common::UniqueFd lease(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (fcntl(lease.get(), F_SETLEASE, F_WRLCK) != 0) GTEST_SKIP() << "no leases here";
  SpawnOptions options = Shell("true");
  options.path = program;
  options.user_timeout = std::chrono::milliseconds(100);
  const SpawnResult result = Spawn(options, false);
  EXPECT_EQ(result.error.step, SpawnError::Step::kTimeout);
  EXPECT_EQ(result.error.error, ETIMEDOUT);
  EXPECT_EQ(result.pid, 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no process is left";
  unlink(program.c_str());
  rmdir(folder);
}

}  // namespace
}  // namespace accel::process
