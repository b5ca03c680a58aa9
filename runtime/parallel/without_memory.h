// Models that are built without memory, and get it later (docs/decisions/0073).
#pragma once

#include <c10/core/Device.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "runtime/recording/libtorch.h"
#include "runtime/recording/recorder.h"

namespace accel::runtime {

// While the scope lives, tensors that this thread makes are on LibTorch's device "meta". They have
// a shape and a dtype, and no memory. Values that are written to them are lost.
class WithoutMemoryScope {
 public:
  WithoutMemoryScope();

 private:
  const c10::impl::IncludeDispatchKeyGuard guard_;
  const NoRecordingScope not_recorded_;
};

// Returns true if a parameter or buffer of the module is on the device "meta".
bool lacks_memory(const torch::nn::Module& module);

// Gives such parameters and buffers memory on `device`. Until they are loaded, their values are
// NaN, or 0 in a dtype without NaN. Tensors remain the same objects.
void give_memory(torch::nn::Module& module, c10::Device device);

// Gives such parameters and buffers only the device. They have a shape and no memory until sharding
// gives this rank its part.
void give_device(torch::nn::Module& module, c10::Device device);

// Returns true unless the tensor has elements and no memory for them.
bool has_memory(const at::Tensor& tensor);

// Makes `tensor` the same as `values`, without its graph. It remains the same object.
void become(const at::Tensor& tensor, const at::Tensor& values);

// Gives a tensor of give_device() its memory, filled as give_memory() does.
void allocate(const at::Tensor& tensor);

}  // namespace accel::runtime
