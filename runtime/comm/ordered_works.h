// Runs the calls of a c10d backend one at a time, in the order in which they were made, and gives
// each call a c10d work. The shared-memory backend has one for its collectives.
//
// CallQueue decides on which thread a call runs. This adds what c10d expects: works, futures with
// their callbacks, and errors in both.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <functional>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "runtime/comm/call_queue.h"

namespace accel::runtime {

// The thread on which a call begins if no other call is queued (docs/decisions/0017).
enum class CallStart {
  // The caller's thread, because the caller waits for the call immediately, or the call is small.
  kHere,
  // The caller's thread; the queue's thread continues it if its peers do not come soon.
  kHereIfPeersCome,
  // The queue's thread.
  kOnThread,
};

// Runs a call, on either thread. Returns false if the call would have to wait for long and
// `may_wait` is false; it is then called once more, with true, and continues where it stopped.
using CallBody = std::function<bool(bool may_wait)>;

// The works of one rank. The destructor blocks until all calls have run. Thread-safe.
class OrderedWorks {
 public:
  explicit OrderedWorks(int rank) : rank_(rank) {}

  // Runs or queues a call, after all earlier ones. The error of the work and of its future is what
  // `body` throws; otherwise the future has `outputs`. A call on the queue's thread, and the
  // callbacks of its future, run in the state of the caller's thread, such as its autograd mode.
  c10::intrusive_ptr<c10d::Work> call(c10d::OpType type, std::vector<at::Tensor> outputs,
                                      CallStart start, CallBody body);

 private:
  const int rank_;
  CallQueue calls_;
};

}  // namespace accel::runtime
