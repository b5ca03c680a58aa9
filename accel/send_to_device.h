#pragma once

#include "accel/nested.h"

namespace accel {

// Returns `value` with its tensors, which accel/nested.h finds, on `device`; other things are
// copied. A tensor that is there already is not copied. With `non_blocking` the host does not wait
// for copies from pinned memory to a GPU; it always waits for copies to the CPU, which it may read
// at once.
template <typename T>
T send_to_device(const T& value, c10::Device device, bool non_blocking = false) {
  return map_tensors(value, [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(device, non_blocking && tensor.is_cpu()) : tensor;
  });
}

}  // namespace accel
