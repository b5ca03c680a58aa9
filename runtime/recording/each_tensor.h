// The tensors in an argument or a result of an operator.
#pragma once

#include <functional>

#include "runtime/recording/libtorch.h"

namespace accel::runtime {

// Calls `visit` with each tensor in the value, undefined ones included. Returns the value with the
// results of `visit` in their places. Lists are copied.
c10::IValue with_each_tensor(const c10::IValue& value,
                             const std::function<at::Tensor(const at::Tensor&)>& visit);

}  // namespace accel::runtime
