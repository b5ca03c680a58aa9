// Finds the shapes of the results of operators that LibTorch does not implement on "meta".
#pragma once

#include "runtime/recording/libtorch.h"

namespace accel::runtime {

// Returns true for operators that are known to accept zeros and to make one new tensor. Its
// shape depends only on the shapes and numbers of the arguments. Tags of operators do not
// show this reliably.
bool shows_shapes_on_zeros(const c10::OperatorHandle& op);

// Calls the operator on the CPU with zeros in place of the values of all tensors. The stack has
// only the arguments, which are replaced by results without memory. The state of the generator is
// restored afterwards. During the call, this needs the memory of the arguments and the results.
// Throws what the operator throws.
void call_on_zeros(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace accel::runtime
