// A single worker keeps standard input: a terminal with its foreground, or a pipe.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "logs/log_reader.h"
#include "process/sweep.h"
#include "shim/host/posix_shim_host.h"

namespace accel::shim {
namespace {

// The worker's script. Its standard output goes to its log.
constexpr char kScript[] =
    "read -r line; ps -o pid=,tpgid= $$ | (read -r pid tpgid;"
    "[ $pid = $tpgid ] && echo \"in front: $line\" || echo \"behind: $line\"); exit 3";

// Acts as accel launch in its own process, with that process's standard input. Exits with the
// worker's code, or with 100 and more on an error.
[[noreturn]] void Launch(const std::string& log_dir) {
  process::BecomeSubreaper();
  PosixShimHost host({"shim/accel-shim", {}});
  StartCommand start;
  start.id = {common::JobId("job"), 1};
  start.argv = {"/bin/sh", "-c", kScript};
  start.workers = {{0, 0, {"PATH=/usr/bin:/bin"}}};
  start.log_dir = log_dir;
  start.keep_stdin = true;
  if (!host.StartShim(start.id.job).ok()) _exit(100);
  if (!host.StartGeneration(start, common::UniqueFd()).ok()) _exit(101);
  while (true) {
    for (const ShimReport& report : host.TakeReports()) {
      if (report.generation->state != GenerationReport::State::kEnded) continue;
      const bool in_front = !isatty(0) || tcgetpgrp(0) == getpgrp();
      _exit(in_front ? report.generation->workers[0].exit->code : 102);
    }
    pollfd wake = {host.wake_fd(), POLLIN, 0};
    if (poll(&wake, 1, 20'000) == 0) _exit(103);
  }
}

int WaitFor(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Printed(const std::string& log_dir) {
  logs::LogReader reader(logs::RankLogDir(log_dir, 0), logs::LogStream::kStdout);
  char buffer[256];
  return std::string(buffer, reader.Read(buffer, sizeof(buffer)).size);
}

TEST(ShimTerminalTest, WorkerIsInTheForegroundAndTheTerminalComesBack) {
  const std::string log_dir = absl::StrCat(getenv("TEST_TMPDIR"), "/terminal");
  int terminal = -1;
  const pid_t launcher = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (launcher == 0) Launch(log_dir);
  ASSERT_EQ(write(terminal, "hello\n", 6), 6);
  EXPECT_EQ(WaitFor(launcher), 3);
  close(terminal);
  EXPECT_EQ(Printed(log_dir), "in front: hello\n");
}

TEST(ShimTerminalTest, CtrlCReachesTheWorkerAlone) {
  const std::string log_dir = absl::StrCat(getenv("TEST_TMPDIR"), "/interrupt");
  int terminal = -1;
  const pid_t launcher = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (launcher == 0) Launch(log_dir);
  // Waits until the worker has the foreground. A Ctrl-Z before Ctrl-C has no effect.
  while (tcgetpgrp(terminal) <= 0 || tcgetpgrp(terminal) == launcher) usleep(1000);
  ASSERT_EQ(write(terminal, "\x1a\x03", 2), 2);
  EXPECT_EQ(WaitFor(launcher), 0);  // 0, because the code of a worker that a signal killed is 0.
  close(terminal);
}

TEST(ShimTerminalTest, PipeIsKept) {
  const std::string log_dir = absl::StrCat(getenv("TEST_TMPDIR"), "/pipe");
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t launcher = fork();
  if (launcher == 0) {
    dup2(ends[0], STDIN_FILENO);
    Launch(log_dir);
  }
  ASSERT_EQ(write(ends[1], "hello\n", 6), 6);
  EXPECT_EQ(WaitFor(launcher), 3);
  close(ends[0]);
  close(ends[1]);
  EXPECT_TRUE(absl::EndsWith(Printed(log_dir), ": hello\n")) << Printed(log_dir);
}

}  // namespace
}  // namespace accel::shim
