// Calls that run one at a time, in the order in which they were made: on a thread of the queue's
// own, or on the caller's where nothing is before them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace accel {

// Thread-safe. No call may wait for a later one.
class CallQueue {
 public:
  CallQueue() = default;
  // Returns when all calls have run.
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  // Takes the turn, for a call that the caller makes itself. False, and nothing, if another call is
  // queued or runs. end() gives the turn back; so does go_on(), after which the call goes on as
  // add() says, before all others.
  bool begin();
  void end();
  void go_on(std::function<void()> call, std::function<void()> report);

  // Returns at once. `call` runs after all calls before it. Then the queue is idle, or goes on with
  // the next one, and `report` runs: whoever hears from it that the call is over finds the queue
  // idle if no other call is there. Neither may throw.
  void add(std::function<void()> call, std::function<void()> report);

 private:
  struct Queued {
    std::function<void()> call, report;
  };

  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Queued> calls_;
  bool runs_ = false;  // A call does, on whatever thread.
  bool stopped_ = false;
  std::thread thread_;  // From the first add() on.
};

}  // namespace accel
