// Makes the timed waits of Abseil, and so those of gRPC, independent of the wall clock (invariant
// 9). tools/daemon.bzl links it into every program of accel.
//
// Abseil waits until a time of the wall clock, also where its caller gave a duration. If the clock
// is set back by a year in such a wait, the wait lasts a year longer. The thread of gRPC's timers
// then stands still, and an agent that loses its coordinator never connects again. Abseil has no
// setting for this, so the linker leads its call of syscall() here (--wrap).
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

// Returns the time of the monotonic clock at which the wall clock will show `wall`, if nothing sets
// it meanwhile.
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
  // The kernel refuses negative times. Both mean that the wait is over.
  return then.tv_sec < 0 ? timespec{} : then;
}

}  // namespace

extern "C" {

long __real_syscall(long number, ...);

// Has all arguments that a system call can have. Those that a caller did not give are not used.
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
