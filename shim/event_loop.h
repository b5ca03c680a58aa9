// One epoll set with a function behind each descriptor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace accel::shim {

// Not thread-safe. The functions must bear being called without a cause: a descriptor's number may
// have passed on to another within one turn.
class EventLoop {
 public:
  EventLoop();

  // Calls `ready` while `fd` has any of `events` (EPOLLIN...). Watching it again changes both.
  void Watch(int fd, uint32_t events, std::function<void()> ready);

  // Before `fd` is closed. Unknown ones are ignored.
  void Unwatch(int fd);

  // One turn: waits until something is ready or `at_most` has passed, calls what is ready.
  void RunOnce(absl::Duration at_most);

  // Readable when something is ready.
  int fd() const { return epoll_.get(); }

 private:
  common::UniqueFd epoll_;
  std::map<int, std::shared_ptr<std::function<void()>>> ready_;
};

}  // namespace accel::shim
