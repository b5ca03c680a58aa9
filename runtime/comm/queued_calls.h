// Watches the collectives that a device has queued but not finished, and aborts them in time.
// Without it, if a peer never joins a call, the next read of a result on the host blocks forever,
// without an error. The head of queued_calls.cc explains how.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "accel/errors.h"
#include "runtime/comm/call_watch.h"

namespace accel::runtime {

// A queued call was aborted. All results that the device has computed since are invalid.
class CallGivenUp : public CommunicationError {
 public:
  using CommunicationError::CommunicationError;
};

// The queued calls of a device, and the thread that watches them. Thread-safe.
class QueuedCalls {
 public:
  // Returns true if the device has finished a call. Must be thread-safe. Throws if the device
  // itself has failed.
  using Done = std::function<bool()>;

  // The connection to the other ranks. The watching thread calls these functions.
  struct Link {
    // Prepares the thread, before it calls anything else.
    std::function<void()> enter;
    // Returns why the connection has failed, or an empty string if it has not.
    std::function<std::string()> failure;
    // Aborts all calls on the device, and returns the text of their error. `call` is the oldest
    // unfinished call, which has the same number on all ranks that take part in it. `reason` says
    // why it is aborted.
    std::function<std::string(const NumberedCall& call, const std::string& reason)> give_up;
  };

  struct Pace {
    // How long a call may take, from its add() on.
    std::chrono::milliseconds limit;
    // The time between two looks of the thread.
    std::chrono::milliseconds look_every = std::chrono::milliseconds(100);
  };

  QueuedCalls(Link link, Pace pace);
  ~QueuedCalls();
  QueuedCalls(const QueuedCalls&) = delete;
  QueuedCalls& operator=(const QueuedCalls&) = delete;

  // Adds a call that has just been queued. If `done` throws, the call counts as finished, because
  // the next use of the device throws the same error.
  void add(NumberedCall call, Done done);

  // Throws CallGivenUp if a call has been aborted, now or earlier.
  void check();

  // Blocks until all calls have finished. Throws what check() throws.
  void wait_for_all();

 private:
  struct Call {
    NumberedCall call;
    Done done;
    std::chrono::steady_clock::time_point begun;
  };
  void watch();
  void drop_done();
  void throw_if_given_up(std::unique_lock<std::mutex>& lock);
  std::optional<std::string> failure_reason() const;

  const Link link_;
  const Pace pace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  // The calls from the oldest unfinished one on. Later calls in the list may have finished too.
  std::deque<Call> calls_;
  bool giving_up_ = false;            // True once an abort is decided. Never false again.
  std::optional<std::string> error_;  // Set when the abort is complete.
  std::thread thread_;
};

}  // namespace accel::runtime
