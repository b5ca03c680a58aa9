// Calls a function when autograd has added up the gradient of a parameter. ShardedModel has one for
// each parameter of its units.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/parallel/libtorch.h"

namespace accel::runtime {

// The hook of one parameter. Not thread-safe, except that `arrived` runs on the thread of the
// backward pass.
class GradientHook {
 public:
  explicit GradientHook(std::function<void()> arrived);
  // Removes the hook.
  ~GradientHook();
  GradientHook(const GradientHook&) = delete;
  GradientHook& operator=(const GradientHook&) = delete;

  // Hooks the parameter if it requires a gradient, and removes the hook if it does not. Call it
  // again with the same parameter when the program may have frozen or unfrozen it.
  void follow(const at::Tensor& parameter);

 private:
  void remove();

  const std::function<void()> arrived_;
  // The node that adds up the gradients of the parameter; null if the parameter is not hooked.
  std::shared_ptr<torch::autograd::Node> accumulator_;
  std::uintptr_t key_ = 0;  // The key of the hook in the node.
};

}  // namespace accel::runtime
