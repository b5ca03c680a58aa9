#include "runtime/comm/queued_calls.h"

#include <exception>
#include <utility>

namespace accel {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kSpin{50};

bool is_over(const QueuedCalls::Done& done) {
  try {
    return done();
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace

QueuedCalls::QueuedCalls(Link link, Pace pace)
    : link_(std::move(link)), pace_(pace), thread_([this] { watch(); }) {}

QueuedCalls::~QueuedCalls() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void QueuedCalls::add(NumberedCall call, Done done) {
  const std::lock_guard lock(mutex_);
  drop_done();
  calls_.push_back({std::move(call), std::move(done), Clock::now()});
}

void QueuedCalls::check() {
  std::unique_lock lock(mutex_);
  if (!giving_up_) return;
  changed_.wait(lock, [this] { return error_.has_value(); });
  throw CallGivenUp(*error_);
}

void QueuedCalls::wait_for(const Done& done) {
  const auto begun = Clock::now();
  while (true) {
    check();
    if (done()) return check();  // What was given up looks done, too.
    if (Clock::now() - begun > kSpin) std::this_thread::sleep_for(kSpin);
  }
}

void QueuedCalls::wait_for_all() {
  wait_for([this] {
    const std::lock_guard lock(mutex_);
    drop_done();
    return calls_.empty();
  });
}

void QueuedCalls::drop_done() {
  std::erase_if(calls_, [](const Call& call) { return is_over(call.done); });
}

std::optional<std::string> QueuedCalls::trouble() const {
  if (calls_.empty()) return std::nullopt;
  if (link_.is_broken()) return "the connection to a peer broke";
  if (Clock::now() - calls_.front().begun < pace_.limit) return std::nullopt;
  return "the GPU did not finish it within " + std::to_string(pace_.limit.count()) + " ms";
}

// Looks now and then rather than being woken by each call, which would cost them a system call.
// From the moment in which it gives up, nobody takes what the device lets go of for a result.
void QueuedCalls::watch() {
  link_.enter();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, pace_.look_every, [this] { return stopped_; })) {
    drop_done();
    const std::optional<std::string> reason = trouble();
    if (!reason) continue;
    giving_up_ = true;
    const NumberedCall call = calls_.front().call;
    lock.unlock();
    std::string error = link_.give_up(call, *reason);
    lock.lock();
    error_ = std::move(error);
    changed_.notify_all();
    return;
  }
}

}  // namespace accel
