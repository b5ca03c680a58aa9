// Makes the timed waits of Abseil and gRPC independent of the wall clock (invariant 9).
// tools/daemon.bzl links this file into every program of accel.
//
// Abseil waits until a time of the wall clock, even if its caller gave a duration. If the clock is
// set back by a year during such a wait, the wait lasts a year longer. The thread of gRPC's timers
// then stops, and an agent that loses its coordinator never reconnects. Abseil has no setting for
// this. The linker therefore redirects its calls of syscall() to this file (--wrap).
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

namespace {

constexpr long kSecondNanos = 1'000'000'000;

timespec Now(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now;
}

// Returns the time of the monotonic clock at which the wall clock will show `wall`, unless it
// is set meanwhile.
timespec Monotonic(const timespec& wall) {
  const timespec now = Now(CLOCK_REALTIME);
  timespec then = Now(CLOCK_MONOTONIC);
  then.tv_sec += wall.tv_sec - now.tv_sec;
  then.tv_nsec += wall.tv_nsec - now.tv_nsec;
  if (then.tv_nsec < 0) {
    then.tv_nsec += kSecondNanos;
    --then.tv_sec;
  } else if (then.tv_nsec >= kSecondNanos) {
    then.tv_nsec -= kSecondNanos;
    ++then.tv_sec;
  }
  // The kernel refuses negative times. Zero also means that the wait is over.
  return then.tv_sec < 0 ? timespec{} : then;
}

}  // namespace

extern "C" {

long __real_syscall(long number, ...);

// The parameters are all that a system call can have. The kernel ignores those that a call
// does not need.
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
  constexpr long kUntilWallTime = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME;
  if (number != SYS_futex || (b & ~FUTEX_PRIVATE_FLAG) != kUntilWallTime || d == 0) {
    return __real_syscall(number, a, b, c, d, e, f);
  }
  const timespec until = Monotonic(*reinterpret_cast<const timespec*>(d));
  return __real_syscall(number, a, b & ~FUTEX_CLOCK_REALTIME, c, &until, e, f);
}

}  // extern "C"
