// An epoll set that calls a function for each descriptor that is ready.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace accel::shim {

// Not thread-safe. A function may be called although its descriptor is not ready, because the
// number of a closed descriptor may be reused within one turn.
class EventLoop {
 public:
  EventLoop();

  // Calls `ready` in each turn in which `fd` has any of `events` (EPOLLIN...). A second call for
  // the same `fd` replaces both.
  void Watch(int fd, uint32_t events, std::function<void()> ready);

  // Must be called before `fd` is closed. Ignores unknown descriptors.
  void Unwatch(int fd);

  // Runs one turn: waits until a descriptor is ready or `at_most` has passed, and calls the
  // functions of all ready ones.
  void RunOnce(absl::Duration at_most);

  // Readable if any watched descriptor is ready.
  int fd() const { return epoll_.get(); }

 private:
  common::UniqueFd epoll_;
  std::map<int, std::shared_ptr<std::function<void()>>> ready_;
};

}  // namespace accel::shim
