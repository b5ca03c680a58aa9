// Shapes of the results of operators that LibTorch does not implement on "meta".
#pragma once

#include "runtime/recording/libtorch.h"

namespace accel::runtime {

// Returns true for the operators that are known to make one new tensor, whose shape depends on the
// shapes and numbers of the arguments alone, and to accept zeros. Tags of operators do not say so
// reliably.
bool shows_shapes_on_zeros(const c10::OperatorHandle& op);

// Calls the operator on the CPU with zeros in place of the values of all tensors, and replaces the
// arguments, which are all that the stack has, by results without memory. Random numbers that it
// draws are not spent. Needs the memory of the arguments and the results meanwhile. Throws what the
// operator throws.
void call_on_zeros(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace accel::runtime
