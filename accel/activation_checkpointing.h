// Activation checkpointing: a part of the forward pass keeps only its inputs, and is computed again
// in the backward pass. This saves the memory of all activations inside the part, and costs about
// one more forward pass. It works with and without sharding, on one process and on several.
//
//   torch::Tensor forward(torch::Tensor x) {
//     for (const auto& block : *blocks) {
//       x = accel::checkpoint([&](const at::Tensor& x) { return block->as<Block>()->forward(x); },
//       x);
//     }
//     return x;
//   }
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "accel/nested.h"
#include "runtime/recompute/recomputed_call.h"

namespace accel {

// Returns `function(args...)`. If gradients are recorded, the activations inside are dropped, and
// the function is called again, with equal arguments, in the backward pass.
//
// The function is copied with what it captures by value. Objects that it captures by reference,
// such as a module, must live until the backward pass is over. The function must compute the same
// each time, on the same shapes. The random numbers of dropout and the state of autocast are
// repeated for it. A tensor that requires a gradient must be a parameter, be computed inside, or be
// in `args`. There it may lie in containers, pairs and tuples (accel/nested.h). Other arguments are
// copied unchanged. No argument may be changed in place before the backward pass. The result is a
// tensor, or a container, pair or tuple of tensors.
//
// Gradients arrive at parameters as without checkpointing. Data parallel training, sharding,
// accumulation and hooks of parameters therefore work as usual. Memory use is largest while one
// part is computed, in forward as in backward. Parts may be nested.
//
// Throws std::invalid_argument if the function uses a tensor with a graph that is not among the
// arguments. The backward pass throws std::runtime_error if the second call returns other shapes or
// types than the first. It throws std::logic_error if gradients of gradients are requested, or if
// the pass is repeated without retain_graph.
template <typename F, typename... Args>
auto checkpoint(F function, Args... args) {
  using Result = std::invoke_result_t<F&, Args&...>;
  static_assert(nested_tensors<Result>,
                "the result of a checkpointed function consists of tensors: a tensor, or a "
                "container, pair or tuple of tensors");
  auto arguments = std::make_shared<std::tuple<Args...>>(std::move(args)...);
  std::vector<at::Tensor> inputs = tensors_of(*arguments);
  // The node of the graph keeps the inputs, because autograd then detects changes in place.
  for_each_tensor(*arguments, [](at::Tensor& tensor) { tensor = at::Tensor(); });
  auto result = std::make_shared<std::optional<Result>>();
  std::vector<at::Tensor> outputs = runtime::call_and_recompute(
      [function = std::move(function), arguments,
       result = std::weak_ptr(result)](const std::vector<at::Tensor>& tensors) mutable {
        std::tuple<Args...> filled = with_tensors(*arguments, tensors);
        Result made = std::apply(function, filled);
        std::vector<at::Tensor> all = tensors_of(made);
        if (const auto first = result.lock()) *first = std::move(made);
        return all;
      },
      std::move(inputs));
  return with_tensors(std::move(**result), outputs);
}

}  // namespace accel
