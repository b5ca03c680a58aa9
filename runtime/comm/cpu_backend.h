#pragma once

#include <chrono>

#include "runtime/comm/gloo_backend.h"
#include "runtime/core/environment.h"

namespace accel {

// Collectives of CPU tensors, the same one on every rank: through shared memory if all ranks are on
// one host, can map one another's memory and none has ACCEL_SHARED_MEMORY=0; else Gloo. Where ranks
// of one host cannot share memory, rank 0 says why on standard error.
c10::intrusive_ptr<c10d::Backend> make_cpu_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                   const Environment& environment,
                                                   std::chrono::milliseconds timeout);

}  // namespace accel
