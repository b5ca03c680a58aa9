// Accepts connections for the gRPC server. gRPC 1.51 has an acceptor of its own, but it stops for
// ever at the first accept() that finds no free descriptor. This one waits and goes on, and keeps
// some descriptors free for everything else that the process does (docs/decisions/0022).
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

  // Accepts on these non-blocking sockets in a thread of its own and hands over each connection,
  // also non-blocking, from that thread. accept() gives the lowest free number, so a connection
  // whose number is `first_refused` or more shows that all lower numbers are in use: it is closed
  // at once.
  Acceptor(std::vector<common::UniqueFd> listeners, int first_refused, OnConnection on_connection);

  // Nothing is handed over any more.
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
  common::LogThrottle refusals_{absl::Seconds(10)};  // The thread's alone.
  common::WakeFd stop_;
  std::thread thread_;
};

// The number from which on connections are refused, where the process may have so many descriptors:
// some below the limit stay free for the store, for files and for who listens.
int FirstRefusedDescriptor(int limit);

}  // namespace accel::coordinator
