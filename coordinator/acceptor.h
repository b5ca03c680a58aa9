// Accepts connections for the gRPC server, instead of gRPC's own acceptor. That one stops forever
// at the first accept() that finds no free descriptor (gRPC 1.51). This one waits and tries again.
// It also keeps some descriptors free for the rest of the process (docs/decisions/0022).
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/log_throttle.h"
#include "common/unique_fd.h"
#include "common/wake_fd.h"

namespace accel::coordinator {

class Acceptor {
 public:
  using OnConnection = std::function<void(common::UniqueFd)>;

  // Accepts connections on these non-blocking sockets in a separate thread, and calls
  // `on_connection` with each, also non-blocking, on that thread. A connection whose descriptor is
  // `first_refused` or more is closed immediately: accept() returns the lowest free number, so all
  // lower ones are in use.
  Acceptor(std::vector<common::UniqueFd> listeners, int first_refused, OnConnection on_connection);

  // Stops the thread. `on_connection` is not called after this.
  ~Acceptor();

  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  enum class Outcome { kNoneWaits, kMayBeMore, kNoRoom };

  void Run();
  Outcome AcceptOne(int listener);
  void LogRefusal(const char* why);

  const std::vector<common::UniqueFd> listeners_;
  const int first_refused_;
  const OnConnection on_connection_;
  common::LogThrottle refusals_{absl::Seconds(10)};  // Used only by the thread.
  common::WakeFd stop_;
  std::thread thread_;
};

// Returns the lowest descriptor that is refused for a connection, if the process may open `limit`
// descriptors. That one and those above it remain free for the store, log files and gRPC.
int FirstRefusedDescriptor(int limit);

}  // namespace accel::coordinator
