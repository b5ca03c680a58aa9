#include "common/stop_signal.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <initializer_list>

#include "common/check.h"

namespace accel::common {

int StopSignalFd() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  // These signals are blocked rather than ignored, because process::Spawn() unblocks all signals in
  // a child, but may keep an ignored SIGHUP ignored.
  sigset_t idle;
  sigemptyset(&idle);
  sigaddset(&idle, SIGHUP);
  sigaddset(&idle, SIGUSR1);
  sigaddset(&idle, SIGUSR2);
  sigprocmask(SIG_BLOCK, &idle, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const int fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
  ACCEL_CHECK(fd >= 0, "the process has no file descriptor left to start with");
  return fd;
}

void TakeStopSignals(int stop_fd) {
  signalfd_siginfo info;
  while (read(stop_fd, &info, sizeof(info)) > 0) continue;
}

}  // namespace accel::common
