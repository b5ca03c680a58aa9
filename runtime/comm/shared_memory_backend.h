// The c10d backend for ranks that share memory (docs/decisions/0017).
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "runtime/comm/gloo_backend.h"
#include "runtime/comm/shared_memory_segment.h"

namespace accel::runtime {

using MakeBackend = std::function<c10::intrusive_ptr<c10d::Backend>()>;

// Makes a backend for collectives of CPU tensors between the ranks that share `segment`. Its
// results are equal to Gloo's bit for bit, except that the sum of bools is true if any of them is.
//
// all-reduce and reduce-scatter (sum, mean, minimum, maximum), broadcast, all-gather, scatter and
// barrier of dense, real tensors go through the memory, in the order of the calls. The reductions
// do so only for the dtypes of element_reduction(). All other calls go to the backend that
// `make_gloo` returns. That backend is made at the first such call, so all ranks must make this
// call. A call whose options have no timeout gets `timeout`. Errors are CommunicationError, in the
// work's wait() and in its future.
//
// A large asynchronous call does not wait for late peers on the caller's thread. A thread of the
// backend runs it, and then the callbacks of its future. A callback must not wait for another call
// of this backend, because that call could only run on the same thread. The destructor ends
// unfinished calls with an error.
c10::intrusive_ptr<c10d::Backend> make_shared_memory_backend(
    std::shared_ptr<SharedMemorySegment> segment, MakeBackend make_gloo,
    std::chrono::milliseconds timeout);

}  // namespace accel::runtime
