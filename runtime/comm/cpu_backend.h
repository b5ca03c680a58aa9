// The choice between shared memory and Gloo.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "runtime/comm/gloo_backend.h"
#include "runtime/core/environment.h"

namespace accel::runtime {

struct CpuBackend {
  c10::intrusive_ptr<c10d::Backend> backend;
  // Returns the ranks whose processes have ended. Returns none over sockets, which do not show it.
  // Thread-safe. Not a collective.
  std::function<std::vector<int>()> ended_ranks;
};

// Makes the backend for collectives of CPU tensors, the same kind on every rank. It is shared
// memory if all ranks are on one host, can map one another's memory, and none has
// ACCEL_SHARED_MEMORY=0, and if they are at most kMaxSharingRanks. Otherwise it is Gloo. If ranks
// of one host cannot share memory, rank 0 logs the reason to standard error. Throws what the store
// throws if a peer does not answer, and what Gloo throws if it cannot connect.
CpuBackend make_cpu_backend(const c10::intrusive_ptr<c10d::Store>& store,
                            const Environment& environment, std::chrono::milliseconds timeout);

}  // namespace accel::runtime
