// Keeps SIGPIPE from ending the program while it lives, because OpenSSL writes to sockets without
// MSG_NOSIGNAL. It acts on the calling thread only, which must also destroy it.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <ctime>

namespace accel::security {

class SigpipeBlock {
 public:
  SigpipeBlock() {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  ~SigpipeBlock() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    // A signal that is pending would arrive once it is no longer blocked.
    const timespec now = {};
    while (sigtimedwait(&sigpipe_, nullptr, &now) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlock(const SigpipeBlock&) = delete;

 private:
  sigset_t sigpipe_;
  sigset_t before_;
};

}  // namespace accel::security
