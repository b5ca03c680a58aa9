#pragma once

#include <chrono>
#include <functional>

#include "runtime/comm/gloo_backend.h"
#include "runtime/comm/shared_memory_segment.h"

namespace accel {

using MakeBackend = std::function<c10::intrusive_ptr<c10d::Backend>()>;

// Collectives of CPU tensors between the ranks that share `segment`, with results equal to Gloo's
// bit for bit. all-reduce (sum, mean, minimum, maximum), broadcast, all-gather, scatter and barrier
// of dense contiguous tensors go through the memory, in the order of the calls. Everything else
// goes to the backend that `make_gloo` makes, at the first such call. A call without a time-out of
// its own has `timeout`. Errors are CommunicationError, in the work's wait() and future.
//
// A large asynchronous call does not wait for peers that are late: a thread of the backend carries
// it out, which also runs what is to follow its future; that may not wait for another call.
// Destroying the backend ends the calls that are still under way with an error.
c10::intrusive_ptr<c10d::Backend> make_shared_memory_backend(
    std::unique_ptr<SharedMemorySegment> segment, MakeBackend make_gloo,
    std::chrono::milliseconds timeout);

}  // namespace accel
