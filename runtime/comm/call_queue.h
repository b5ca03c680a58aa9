// Runs the calls of one rank one at a time, in the order in which they were made. A call runs on
// the caller's thread if no other call is queued, otherwise on a thread that belongs to the queue.
//
// The shared-memory backend needs the order because every rank must carry out its collectives in
// the same order. It needs both threads because each is too slow alone. A call that changes threads
// costs time. A call that waits for a late peer must not stop the backward pass that made it
// (docs/decisions/0017). QueuedCalls (queued_calls.h) has another purpose: it carries nothing out,
// but watches calls that a GPU carries out.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace accel::runtime {

// Thread-safe. A call that waits for a later one never returns.
class CallQueue {
 public:
  CallQueue() = default;
  // Blocks until all calls have run.
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  // Reserves the queue for a call that the caller runs itself, on its own thread. Returns false and
  // changes nothing if another call is queued or running. If it returns true, the caller must call
  // one of two methods exactly once. end() ends the call. continue_on_thread() lets the queue's
  // thread run the rest of the call as add() does, but before all queued calls.
  bool try_begin();
  void end();
  void continue_on_thread(std::function<void()> call, std::function<void()> report);

  // Returns immediately. The queue's thread runs `call` after all earlier calls, and then `report`.
  // When `report` runs, the call no longer occupies the queue. A thread that `report` wakes can
  // therefore try_begin() the next call itself. Neither function may throw.
  void add(std::function<void()> call, std::function<void()> report);

 private:
  struct Queued {
    std::function<void()> call, report;
  };

  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Queued> calls_;
  bool runs_ = false;  // True while a call runs, on either thread.
  bool stopped_ = false;
  std::thread thread_;  // Started by the first add() or continue_on_thread().
};

}  // namespace accel::runtime
