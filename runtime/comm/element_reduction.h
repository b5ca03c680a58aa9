// The arithmetic of an all-reduce, with Gloo's results.
#pragma once

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "runtime/comm/shared_memory_exchange.h"

namespace accel::runtime {

// Returns what Gloo does with two elements of `dtype`, with the operands in Gloo's order. The
// sum of bools is the exception: it is true if any of them is, as in NCCL. A mean is summed
// here, and divided by the caller. `function` is null for types and operations that shared
// memory leaves to Gloo.
ElementReduction element_reduction(at::ScalarType dtype, const c10d::ReduceOp& operation);

}  // namespace accel::runtime
