#include "process/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <thread>
#include <vector>

#include "common/unique_fd.h"

namespace accel::process {
namespace {

SpawnOptions Shell(const std::string& script) {
  SpawnOptions options;
  options.path = "/bin/sh";
  options.argv = {"sh", "-c", script};
  options.fds = {{0, 0}, {1, 1}, {2, 2}};
  return options;
}

int ExitCode(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(SpawnTest, RunsAProgram) {
  SpawnOptions options = Shell("[ \"$A\" = b ] && [ \"$(pwd)\" = / ] && exit 5");
  options.env = {"A=b"};
  options.workdir = "/";
  const SpawnResult result = Spawn(options, false);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(getpgid(result.pid), result.pid);
  EXPECT_EQ(ExitCode(result.pid), 5);
}

TEST(SpawnTest, SaysExactlyWhatFailed) {
  SpawnOptions options = Shell("exit 0");
  options.path = "/no/such/program";
  SpawnResult result = Spawn(options, false);
  EXPECT_EQ(result.error.step, SpawnError::Step::kExec);
  EXPECT_EQ(result.error.error, ENOENT);
  EXPECT_EQ(result.pid, 0);

  options = Shell("exit 0");
  options.workdir = "/no/such/folder";
  result = Spawn(options, false);
  EXPECT_EQ(result.error.step, SpawnError::Step::kWorkdir);
  EXPECT_EQ(result.error.error, ENOENT);

  options = Shell("exit 0");
  options.fds[0].source = 12345;
  result = Spawn(options, false);
  EXPECT_EQ(result.error.step, SpawnError::Step::kDescriptors);
  EXPECT_EQ(result.error.error, EBADF);

  options = Shell("exit 0");
  const common::UniqueFd no_terminal(open("/dev/null", O_RDWR | O_CLOEXEC));
  options.terminal_fd = no_terminal.get();
  result = Spawn(options, false);
  EXPECT_EQ(result.error.step, SpawnError::Step::kTerminal);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no process is left";
}

TEST(SpawnTest, DescriptorsMayTradePlaces) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const common::UniqueFd reader(ends[0]), writer(ends[1]);
  const common::UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  // The place of standard error is a source too. No descriptor above the last target remains open.
  SpawnOptions options = Shell("echo x >&2; echo y; [ -e /proc/self/fd/4 ] && exit 9; exit 5");
  options.fds = {{null.get(), 0}, {2, 1}, {writer.get(), 2}, {0, 3}};
  const SpawnResult result = Spawn(options, false);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(ExitCode(result.pid), 5);
  char text[8];
  EXPECT_EQ(read(reader.get(), text, sizeof(text)), 2);
  EXPECT_EQ(text[0], 'x');
}

TEST(SpawnTest, TheChildGetsItsOwnLimitOfOpenFiles) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  SpawnOptions options = Shell("[ $(ulimit -n) = 99 ] && exit 5");
  options.open_files = rlimit{99, before.rlim_max};
  const SpawnResult result = Spawn(options, false);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(ExitCode(result.pid), 5);
  rlimit after;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_cur) << "the caller's is as it was";
}

TEST(SpawnTest, TheChildGetsItsOwnPriority) {
  const int before = getpriority(PRIO_PROCESS, 0);
  SpawnOptions options = Shell("[ $(nice) = 19 ] && exit 5");
  options.nice = 19;
  const SpawnResult result = Spawn(options, false);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(ExitCode(result.pid), 5);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before) << "the caller's is as it was";
}

TEST(SpawnTest, HandlersOfTheCallerDoNotRunInTheChild) {
  signal(SIGTERM, [](int) { _exit(66); });
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, &before);
  const SpawnResult result = Spawn(Shell("kill -TERM $$; exit 5"), false);
  sigset_t now;
  sigprocmask(SIG_SETMASK, &before, &now);
  signal(SIGTERM, SIG_DFL);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(ExitCode(result.pid), -SIGTERM);
  EXPECT_EQ(sigismember(&now, SIGTERM), 1) << "the caller's mask is as it was";
}

TEST(SpawnTest, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 20; ++i) {
        const int code = thread * 20 + i;
        const SpawnResult result = Spawn(Shell("exit " + std::to_string(code)), false);
        ASSERT_TRUE(result.ok());
        EXPECT_EQ(ExitCode(result.pid), code);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace accel::process
