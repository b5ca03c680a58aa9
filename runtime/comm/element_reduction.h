// The arithmetic of an all-reduce, with Gloo's results.
#pragma once

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "runtime/comm/shared_memory_exchange.h"

namespace accel::runtime {

// Returns the function that Gloo applies to two elements of `dtype`, with the operands in Gloo's
// order. The sum of bools is an exception: it is true if any of them is, as in NCCL. For a mean,
// returns the sum, which the caller divides. `function` is null for types and operations that
// shared memory leaves to Gloo.
ElementReduction element_reduction(at::ScalarType dtype, const c10d::ReduceOp& operation);

}  // namespace accel::runtime
