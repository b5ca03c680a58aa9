// One call whose activations are dropped and computed again in the backward pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace accel::runtime {

// What is computed twice: a function of tensors. Undefined tensors are allowed in both lists.
using RecomputedFunction =
    std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;

// Calls `function(inputs)`. If gradients are recorded and a result requires one, the returned
// tensors have a graph of one node, which calls the function again in the backward pass and keeps
// `inputs` until then. accel/activation_checkpointing.h has the conditions and the errors.
std::vector<at::Tensor> call_and_recompute(RecomputedFunction function,
                                           std::vector<at::Tensor> inputs);

// Returns the number of calls that this process has computed again so far.
std::uint64_t recomputed_calls();

}  // namespace accel::runtime
