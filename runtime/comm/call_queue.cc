#include "runtime/comm/call_queue.h"

#include <utility>

namespace accel::runtime {

CallQueue::~CallQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool CallQueue::try_begin() {
  const std::lock_guard lock(mutex_);
  if (runs_ || !calls_.empty()) return false;
  runs_ = true;
  return true;
}

void CallQueue::end() {
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    runs_ = false;
    goes_on = !calls_.empty();
  }
  if (goes_on) changed_.notify_one();
}

void CallQueue::continue_on_thread(std::function<void()> call, std::function<void()> report) {
  {
    const std::lock_guard lock(mutex_);
    calls_.push_front({std::move(call), std::move(report)});
    runs_ = false;
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_one();
}

void CallQueue::add(std::function<void()> call, std::function<void()> report) {
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back({std::move(call), std::move(report)});
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_one();
}

void CallQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !runs_ && (stopped_ || !calls_.empty()); });
    if (calls_.empty()) return;
    Queued next = std::move(calls_.front());
    calls_.pop_front();
    runs_ = true;
    lock.unlock();
    next.call();
    lock.lock();
    runs_ = false;
    lock.unlock();
    next.report();
    // Destroyed before the lock is taken, because what the functions hold may call the queue.
    next = {};
    lock.lock();
  }
}

}  // namespace accel::runtime
