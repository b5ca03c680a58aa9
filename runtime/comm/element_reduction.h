#pragma once

#include "runtime/comm/gloo_backend.h"
#include "runtime/comm/shared_memory_exchange.h"

namespace accel {

// What Gloo does with two elements of `dtype`, with its operands in its order. function is null
// where Gloo has none, or where it is not needed here. The sum of bools is whether one is true.
Reduction element_reduction(at::ScalarType dtype, const c10d::ReduceOp& operation);

}  // namespace accel
