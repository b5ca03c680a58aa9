// An eventfd that one thread makes readable and another polls and clears.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "common/check.h"
#include "common/unique_fd.h"

namespace accel::common {

// Thread-safe; Wake() is safe in signal handlers too.
class WakeFd {
 public:
  WakeFd() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    ACCEL_CHECK(fd_.valid(), "the process has no file descriptor left to start with");
  }

  int get() const { return fd_.get(); }
  // The results are ignored. The counter grows by one, so it cannot overflow in practice. A read of
  // a counter that is 0 fails and need not clear anything.
  void Wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(fd_.get(), &one, sizeof(one));
  }
  void Clear() {
    uint64_t count;
    [[maybe_unused]] const ssize_t got = read(fd_.get(), &count, sizeof(count));
  }

 private:
  UniqueFd fd_;
};

}  // namespace accel::common
