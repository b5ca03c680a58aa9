#include "shim/event_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "common/check.h"

namespace accel::shim {
namespace {

constexpr int kMaxEvents = 64;

int Milliseconds(absl::Duration at_most) {
  const absl::Duration whole = absl::Ceil(at_most, absl::Milliseconds(1));
  const int64_t count = absl::ToInt64Milliseconds(whole);
  if (at_most == absl::InfiniteDuration()) return -1;
  return static_cast<int>(std::clamp<int64_t>(count, 0, INT_MAX));
}

}  // namespace

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  ACCEL_CHECK(epoll_.valid(), "epoll needs a free descriptor");
}

void EventLoop::Watch(int fd, uint32_t events, std::function<void()> ready) {
  epoll_event event = {};
  event.events = events;
  event.data.fd = fd;
  const int operation = ready_.count(fd) > 0 ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  ACCEL_CHECK(epoll_ctl(epoll_.get(), operation, fd, &event) == 0,
              "only open sockets, pipes and the like are watched");
  ready_[fd] = std::make_shared<std::function<void()>>(std::move(ready));
}

void EventLoop::Unwatch(int fd) {
  if (ready_.erase(fd) > 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::RunOnce(absl::Duration at_most) {
  epoll_event events[kMaxEvents];
  const int count = epoll_wait(epoll_.get(), events, kMaxEvents, Milliseconds(at_most));
  for (int i = 0; i < count; ++i) {
    const auto found = ready_.find(events[i].data.fd);
    if (found == ready_.end()) continue;  // An earlier function of this turn has unwatched it.
    // A copy, because the function may unwatch its own descriptor.
    const auto ready = found->second;
    (*ready)();
  }
}

}  // namespace accel::shim
