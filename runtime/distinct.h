// Removes repeated tensors from lists of parameters.
#pragma once

#include <unordered_set>
#include <vector>

namespace accel::runtime {

// Returns `tensors` without repetitions, in their order. torch::nn::Module::parameters() lists a
// parameter twice that is registered under two names or shared by two models. Python lists it once.
//
// This is a template, so that the header includes nothing of LibTorch.
template <typename Tensor>
std::vector<Tensor> distinct(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  std::unordered_set<const void*> seen;
  for (const Tensor& tensor : tensors) {
    if (seen.insert(tensor.unsafeGetTensorImpl()).second) out.push_back(tensor);
  }
  return out;
}

}  // namespace accel::runtime
