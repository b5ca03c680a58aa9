#pragma once

#include <unordered_set>
#include <vector>

namespace accel {

// Each tensor once. What is registered under two names, or shared by two models, is listed twice by
// torch::nn::Module::parameters(), where Python lists it once.
template <typename Tensor>
std::vector<Tensor> distinct(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  std::unordered_set<const void*> seen;
  for (const Tensor& tensor : tensors) {
    if (seen.insert(tensor.unsafeGetTensorImpl()).second) out.push_back(tensor);
  }
  return out;
}

}  // namespace accel
