#include "cli/interrupts.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "common/check.h"

namespace accel::cli {
namespace {

std::atomic<int> g_signals{-1};  // A signal handler can use globals only.

void Add(int fd) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd, &one, sizeof one);
}

void Handle(int) {
  const int saved_errno = errno;
  if (const int fd = g_signals.load(); fd >= 0) Add(fd);
  errno = saved_errno;
}

void Catch(int signal, struct sigaction* old) {
  ::sigaction(signal, nullptr, old);
  if (old->sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupts::Interrupts(std::function<void(int count)> on_interrupt)
    : signals_(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)), end_(::eventfd(0, EFD_CLOEXEC)) {
  ACCEL_CHECK(signals_.valid() && end_.valid(), "the process can open two more descriptors");
  ACCEL_CHECK(g_signals.exchange(signals_.get()) == -1, "there is only one Interrupts at a time");
  Catch(SIGINT, &old_int_);
  Catch(SIGTERM, &old_term_);
  thread_ = std::thread([this, call = std::move(on_interrupt)] { Listen(call); });
}

Interrupts::~Interrupts() {
  ::sigaction(SIGINT, &old_int_, nullptr);
  ::sigaction(SIGTERM, &old_term_, nullptr);
  g_signals.store(-1);
  Add(end_.get());
  thread_.join();
}

void Interrupts::Listen(const std::function<void(int)>& on_interrupt) {
  int count = 0;
  while (true) {
    pollfd both[] = {{end_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    if (::poll(both, 2, -1) < 0) continue;  // EINTR
    if (both[0].revents != 0) return;
    uint64_t one = 0;
    if (::read(signals_.get(), &one, sizeof one) == sizeof one) on_interrupt(++count);
  }
}

}  // namespace accel::cli
