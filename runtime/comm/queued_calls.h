// Calls that have returned although the device has yet to carry them out. A peer that stays away
// from one blocks whoever looks at a result of the device next, without an error; a thread of its
// own gives such a call up in time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "accel/errors.h"
#include "runtime/comm/call_watch.h"

namespace accel {

// A call was given up: what the device computes from then on is worth nothing.
class CallGivenUp : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

// Thread-safe.
class QueuedCalls {
 public:
  // Whether the device is done with a call. Called by any thread.
  using Done = std::function<bool()>;

  // The communication, as the thread sees it.
  struct Link {
    std::function<void()> enter;      // Called first by the thread.
    std::function<bool()> is_broken;  // Whether it has failed already.
    // Makes the device let go of all calls, and returns what their error shall say. `call`: the
    // oldest that it has not carried out, which is the same for all ranks that take part in it;
    // `reason`: why.
    std::function<std::string(const NumberedCall& call, const std::string& reason)> give_up;
  };

  struct Pace {
    std::chrono::milliseconds limit;  // From add() on.
    std::chrono::milliseconds look_every = std::chrono::milliseconds(100);
  };

  QueuedCalls(Link link, Pace pace);
  ~QueuedCalls();
  QueuedCalls(const QueuedCalls&) = delete;
  QueuedCalls& operator=(const QueuedCalls&) = delete;

  // A call that has been queued just now. What `done` throws, which means that the device itself
  // has failed, is left to whoever uses the device next.
  void add(NumberedCall call, Done done);

  // Throws CallGivenUp if one was given up, from then on.
  void check();

  // Returns when `done`, or throws as check(). What `done` throws comes out.
  void wait_for(const Done& done);

  // Returns when all are done, or throws as check().
  void wait_for_all();

 private:
  struct Call {
    NumberedCall call;
    Done done;
    std::chrono::steady_clock::time_point begun;
  };
  void watch();
  void drop_done();
  std::optional<std::string> trouble() const;

  const Link link_;
  const Pace pace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::vector<Call> calls_;  // The oldest first.
  bool giving_up_ = false;
  std::optional<std::string> error_;  // There in the end if giving_up_.
  std::thread thread_;
};

}  // namespace accel
