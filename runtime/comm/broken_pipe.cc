#include "runtime/comm/broken_pipe.h"

#include <csignal>
#include <mutex>

namespace accel::runtime {

void survive_broken_pipes() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    if (sigaction(SIGPIPE, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 ||
        action.sa_handler != SIG_DFL) {
      return;
    }
    // A handler instead of SIG_IGN, because programs that this one executes must find SIG_DFL.
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    sigaction(SIGPIPE, &action, nullptr);
  });
}

}  // namespace accel::runtime
