// Moves structures of tensors between devices. For programs that do not prepare their loaders.
#pragma once

#include "accel/nested.h"

namespace accel {

// Returns a copy of `value` whose tensors (see accel/nested.h) are on `device`. A tensor that is
// already there is not copied, and shares its memory. With `non_blocking`, the host does not wait
// for copies from pinned memory to a GPU. The host always waits for copies to the CPU, because the
// program may read them immediately.
template <typename T>
T send_to_device(const T& value, c10::Device device, bool non_blocking = false) {
  return map_tensors(value, [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(device, non_blocking && tensor.is_cpu()) : tensor;
  });
}

}  // namespace accel
