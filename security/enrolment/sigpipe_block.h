// Blocks SIGPIPE in the calling thread while an object lives, because OpenSSL writes to sockets
// without MSG_NOSIGNAL. The same thread must destroy the object.
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
    // A pending SIGPIPE is taken, because it would otherwise arrive when the block ends.
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
