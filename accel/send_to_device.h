#pragma once

#include "accel/nested.h"

namespace accel {

// `value` with its tensors on `device`: a tensor, or what runtime/nested.h says, in which other
// things stay as they are. Tensors that are there already are not copied. `non_blocking`: the host
// does not wait for copies to a GPU, which takes tensors in pinned memory; it always waits for what
// it is to read itself.
template <typename T>
T send_to_device(const T& value, c10::Device device, bool non_blocking = false) {
  const auto send = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(device, non_blocking && tensor.is_cpu()) : tensor;
  };
  return nested_internal::map_any(value, send);
}

}  // namespace accel
