// Activation checkpointing: a part of the forward pass keeps its inputs only, and is computed again
// in the backward pass. This trades time, about one more forward pass, for the memory of all
// activations inside the part. It works with and without sharding, on one process and on several.
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
// The function is copied, and so is what it captures by value; what it captures by reference, such
// as a module, must live until the backward pass is over. It must compute the same each time, on
// the same shapes; the random numbers of dropout and the state of autocast are repeated. A tensor
// that requires a gradient must be a parameter, be computed inside, or be in `args`, where it may
// lie in containers, pairs and tuples (accel/nested.h); other arguments are copied as they are.
// Arguments must not be changed in place before the backward pass. The result is a tensor, or a
// container, pair or tuple of tensors.
//
// Gradients arrive at parameters as without checkpointing, so data parallel training, sharding,
// accumulation and hooks of parameters work alike. Memory is largest while one part is computed, in
// forward as in backward. Parts may be nested.
//
// Throws std::invalid_argument if the function uses a tensor with a graph that is not among the
// arguments. In the backward pass, std::runtime_error is thrown if the second call returns other
// tensors than the first, and std::logic_error if gradients of gradients are asked for.
template <typename F, typename... Args>
auto checkpoint(F function, Args... args) {
  using Result = std::invoke_result_t<F&, Args&...>;
  static_assert(nested_tensors<Result>,
                "the result of a checkpointed function consists of tensors: a tensor, or a "
                "container, pair or tuple of tensors");
  auto arguments = std::make_shared<std::tuple<Args...>>(std::move(args)...);
  std::vector<at::Tensor> inputs = tensors_of(*arguments);
  // The node keeps the inputs, so that autograd finds changes in place.
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
