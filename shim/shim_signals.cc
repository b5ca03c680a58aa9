#include "shim/shim_signals.h"

#include <signal.h>
#include <sys/signalfd.h>

namespace accel::shim {

common::UniqueFd TakeShimSignals() {
  for (int number : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTTOU, SIGTSTP}) {
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
