// One call whose activations are dropped and computed again in the backward pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace accel::runtime {

// The function that is called twice. Undefined tensors are allowed in both lists.
using RecomputedFunction =
    std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;

// Calls `function(inputs)`. If gradients are recorded and a result requires one, the returned
// tensors have a graph of one node. The node keeps `inputs`, and calls the function again in the
// backward pass. accel/activation_checkpointing.h has the conditions and the errors.
std::vector<at::Tensor> call_and_recompute(RecomputedFunction function,
                                           std::vector<at::Tensor> inputs);

// Returns the number of calls that this process has computed again so far.
std::uint64_t recomputed_calls();

}  // namespace accel::runtime
