#include "shim/shim_signals.h"

#include <signal.h>
#include <sys/signalfd.h>

namespace accel::shim {

common::UniqueFd TakeShimSignals() {
  // SIGUSR1 and SIGUSR2 are ignored, because Slurm sends them to all processes of a step, but means
  // them for the workers.
  for (int number : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTTOU, SIGTSTP, SIGUSR1, SIGUSR2}) {
    ::signal(number, SIG_IGN);
  }
  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, SIGTERM);
  sigaddset(&taken, SIGCHLD);
  sigprocmask(SIG_BLOCK, &taken, nullptr);
  return common::UniqueFd(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool HangupIsIgnored() {
  struct sigaction now = {};
  return sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace accel::shim
