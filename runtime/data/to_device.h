#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/data/example.h>

#include <utility>
#include <vector>

namespace accel {

// Batches of tensors, torch::data examples and vectors of these, moved to a device. Anything else
// stays.
template <typename T>
T to_device(T value, const c10::Device&) {
  return value;
}
inline at::Tensor to_device(at::Tensor tensor, const c10::Device& device);
template <typename Data, typename Target>
torch::data::Example<Data, Target> to_device(torch::data::Example<Data, Target> example,
                                             const c10::Device& device);
template <typename Data>
torch::data::Example<Data, torch::data::example::NoTarget> to_device(
    torch::data::Example<Data, torch::data::example::NoTarget> example, const c10::Device& device);
template <typename T>
std::vector<T> to_device(std::vector<T> values, const c10::Device& device);

inline at::Tensor to_device(at::Tensor tensor, const c10::Device& device) {
  return tensor.defined() ? tensor.to(device) : tensor;
}

template <typename Data, typename Target>
torch::data::Example<Data, Target> to_device(torch::data::Example<Data, Target> example,
                                             const c10::Device& device) {
  return {to_device(std::move(example.data), device), to_device(std::move(example.target), device)};
}

template <typename Data>
torch::data::Example<Data, torch::data::example::NoTarget> to_device(
    torch::data::Example<Data, torch::data::example::NoTarget> example, const c10::Device& device) {
  return {to_device(std::move(example.data), device)};
}

template <typename T>
std::vector<T> to_device(std::vector<T> values, const c10::Device& device) {
  for (T& value : values) value = to_device(std::move(value), device);
  return values;
}

}  // namespace accel
