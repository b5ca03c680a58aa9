// A library to preload: shifts the wall clock of one process by the seconds in a file that a test
// may change at any time.
//
//   LD_PRELOAD=.../libwall_clock.so WALL_CLOCK_FILE=PATH       PATH holds one int64, which is added
//
// As after a real change of the clock, a wait until a time of the wall clock becomes longer or
// shorter at the moment of the change. Abseil waits in this way. The monotonic clock is left
// unchanged.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const long kSliceNanos = 20 * 1000 * 1000;  // How often a wait looks at the clock.
static const long kSecond = 1000 * 1000 * 1000;

static const volatile int64_t* shift;
static int (*real_clock_gettime)(clockid_t, struct timespec*);
static long (*real_syscall)(long, ...);

__attribute__((constructor)) static void Load(void) {
  real_clock_gettime = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  const char* path = getenv("WALL_CLOCK_FILE");
  const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) abort();
  shift = (const volatile int64_t*)mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  if (shift == MAP_FAILED) abort();
  close(fd);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  if (real_clock_gettime == NULL) Load();
  const int result = real_clock_gettime(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += *shift;
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to != NULL) *to = now.tv_sec;
  return now.tv_sec;
}

// Waits until a time of the shifted clock, in slices of the unshifted one.
static long WaitUntil(long word, long op, long value, const struct timespec* until, long mask) {
  for (;;) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t seconds = until->tv_sec - now.tv_sec;
    const int64_t left = seconds > 1    ? kSecond
                         : seconds < -1 ? -1
                                        : seconds * kSecond + until->tv_nsec - now.tv_nsec;
    struct timespec end;
    real_clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += left <= 0 ? 0 : left < kSliceNanos ? left : kSliceNanos;
    end.tv_sec += end.tv_nsec / kSecond;
    end.tv_nsec %= kSecond;
    const long result = real_syscall(SYS_futex, word, op, value, &end, 0L, mask);
    if (result == 0 || errno != ETIMEDOUT || left <= 0) return result;
  }
}

long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (real_syscall == NULL) Load();
  if (number == SYS_futex && (a[1] & FUTEX_CLOCK_REALTIME) != 0 && a[3] != 0) {
    return WaitUntil(a[0], a[1], a[2], (const struct timespec*)a[3], a[5]);
  }
  return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
