#include "cli/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string>
#include <utility>

namespace accel::cli {
namespace {

bool is_running = false;

std::string PagerCommand() {
  for (const char* variable : {"ACCEL_PAGER", "PAGER"}) {
    if (const char* command = ::getenv(variable)) return command;
  }
  return "less";
}

common::UniqueFd Copy(int fd) { return common::UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

}  // namespace

std::unique_ptr<Pager> Pager::StartOnATerminal() {
  const std::string command = PagerCommand();
  if (::isatty(STDOUT_FILENO) != 1 || command.empty() || command == "cat") return nullptr;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  common::UniqueFd read_end(ends[0]), write_end(ends[1]);
  ::setenv("LESS", "FRX", /*overwrite=*/0);
  std::cout << std::flush;
  // A pager that does not exist must not swallow the output.
  const std::string script = command + "; test $? != 127 || exec cat";
  const pid_t pid = fork();
  if (pid < 0) return nullptr;
  if (pid == 0) {
    dup2(read_end.get(), STDIN_FILENO);
    execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    _exit(127);
  }
  common::UniqueFd out = Copy(STDOUT_FILENO);
  common::UniqueFd err = ::isatty(STDERR_FILENO) == 1 ? Copy(STDERR_FILENO) : common::UniqueFd();
  dup2(write_end.get(), STDOUT_FILENO);
  if (err.get() >= 0) dup2(write_end.get(), STDERR_FILENO);
  // Ctrl-C belongs to the pager. A pager that ends closes the pipe, which ends this process.
  signal(SIGINT, SIG_IGN);
  signal(SIGPIPE, SIG_DFL);
  return std::unique_ptr<Pager>(new Pager(pid, std::move(out), std::move(err)));
}

bool Pager::IsRunning() { return is_running; }

Pager::Pager(pid_t pid, common::UniqueFd out, common::UniqueFd err)
    : pid_(pid), out_(std::move(out)), err_(std::move(err)) {
  is_running = true;
}

Pager::~Pager() {
  std::cout << std::flush;
  std::cerr << std::flush;
  dup2(out_.get(), STDOUT_FILENO);
  if (err_.get() >= 0) dup2(err_.get(), STDERR_FILENO);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  is_running = false;
}

}  // namespace accel::cli
