// The watchdog of queued collectives.
//
// The problem. On a GPU a collective returns when it is queued, not when it has happened. Its
// kernel then waits on the device for the peers. If a peer has died or makes another call, the
// kernel waits forever, and so does all later work of the stream. The host notices nothing until
// it reads a result. Then it blocks in the driver, where no timeout applies. LibTorch's NCCL
// watchdog would end such a process without saying which rank is missing. So its actions are
// switched off (runtime/nccl/watchdog_settings.h).
//
// The approach. Each queued call leaves a function here that says whether the device has
// finished it. A thread looks at the oldest unfinished call ten times a second. If this call has
// exceeded its limit, or the connection is broken, the thread aborts all calls. From then on
// every check() throws:
//
// clang-format off
//   add() ──▶ queued ──done()──▶ dropped
//               │
//               └─ over the limit,  ──▶ giving_up_ ──Link::give_up()──▶ error_ ──▶ check() throws,
//                  or link broken       check() blocks                             for good
// clang-format on
//
// The oldest unfinished call is the one that failed, because a stream finishes calls in order, and
// all later calls merely wait behind it. It also has the same number on all ranks, so the ranks can
// compare their notes about it (call_watch.h).
//
// giving_up_ is set before the abort begins, because the abort makes the kernels end, and
// unfinished calls then look finished. Code that has read a result therefore calls check() before
// it uses the result, which may never have arrived. error_ is set only after the abort, because
// Link::give_up() takes seconds to find out which ranks are missing.
//
// The thread that made a call cannot watch it, because that thread is the one that blocks. A
// callback in the stream cannot watch it either, because the stream is stuck. CallQueue
// (call_queue.h) has a similar name and another purpose: it runs the calls of a CPU backend, one
// after the other. Here the device runs the calls. docs/decisions/0021 has the alternatives.
#include "runtime/comm/queued_calls.h"

#include <exception>
#include <utility>

namespace accel::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// The time between two looks of wait_for_all().
constexpr std::chrono::milliseconds kLookEvery{1};

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

void QueuedCalls::throw_if_given_up(std::unique_lock<std::mutex>& lock) {
  if (!giving_up_) return;
  changed_.wait(lock, [this] { return error_.has_value(); });
  throw CallGivenUp(*error_);
}

void QueuedCalls::check() {
  std::unique_lock lock(mutex_);
  throw_if_given_up(lock);
}

// Looks for the error after the calls, because an aborted call looks finished as well.
void QueuedCalls::wait_for_all() {
  std::unique_lock lock(mutex_);
  while (true) {
    drop_done();
    throw_if_given_up(lock);
    if (calls_.empty()) return;
    changed_.wait_for(lock, kLookEvery);
  }
}

// Looks at the oldest calls only, because a program may be hundreds of calls ahead of its GPU.
void QueuedCalls::drop_done() {
  while (!calls_.empty() && is_over(calls_.front().done)) calls_.pop_front();
}

std::optional<std::string> QueuedCalls::failure_reason() const {
  if (calls_.empty()) return std::nullopt;
  if (std::string failure = link_.failure(); !failure.empty()) return failure;
  if (Clock::now() - calls_.front().begun < pace_.limit) return std::nullopt;
  return "the GPU did not finish it within " + std::to_string(pace_.limit.count()) + " ms";
}

// Polls instead of being woken by each call, because waking a thread costs the call a system call.
void QueuedCalls::watch() {
  link_.enter();
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, pace_.look_every, [this] { return stopped_; })) {
    drop_done();
    const std::optional<std::string> reason = failure_reason();
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

}  // namespace accel::runtime
