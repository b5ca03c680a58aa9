// How tensors are made without memory by a constructor that was not written for it.
//
// LibTorch has no default device for C++, and its modules choose the CPU. So every operator of the
// thread is intercepted by `Fake`, a key of LibTorch's dispatcher that LibTorch leaves to other
// libraries. For operators that make tensors, the argument `device` is replaced by "meta".
// Operators on such tensors compute only shapes.
//
// Later a parameter gets memory, or a part of it. It must remain the same object, because modules
// and optimizers refer to it. set_data() refuses to change the device from "meta", so the parts of
// the object are copied one level below.
#include "runtime/parallel/without_memory.h"

#include <limits>
#include <utility>

namespace accel::runtime {
namespace {

void intercept(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  if (!record(op, keys, stack)) call_on_meta(op, keys, stack);
}

at::Tensor unknown_values(const at::Tensor& like, c10::Device device) {
  const at::NoGradGuard no_graph;
  at::Tensor values = at::empty(like.sizes(), like.options().device(device).requires_grad(false));
  return at::isFloatingType(like.scalar_type())
             ? values.fill_(std::numeric_limits<double>::quiet_NaN())
             : values.zero_();
}

// Returns a tensor of this shape whose storage has no bytes.
at::Tensor without_bytes(const at::Tensor& like, c10::Device device) {
  const at::Tensor none = at::empty({0}, like.options().device(device).requires_grad(false));
  auto impl = c10::make_intrusive<c10::TensorImpl>(c10::Storage(none.storage()), none.key_set(),
                                                   none.dtype());
  impl->set_sizes_contiguous(like.sizes());
  return at::Tensor(std::move(impl));
}

}  // namespace

TORCH_LIBRARY_IMPL(_, Fake, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&intercept>());
}

WithoutMemoryScope::WithoutMemoryScope() : guard_(kInterceptedKey) {}

bool lacks_memory(const torch::nn::Module& module) {
  for (const at::Tensor& tensor : module.parameters()) {
    if (tensor.defined() && tensor.is_meta()) return true;
  }
  for (const at::Tensor& tensor : module.buffers()) {
    if (tensor.defined() && tensor.is_meta()) return true;
  }
  return false;
}

void give_memory(torch::nn::Module& module, c10::Device device) {
  give_device(module, device);
  for (const at::Tensor& tensor : module.parameters()) {
    if (tensor.defined() && !has_memory(tensor)) allocate(tensor);
  }
  for (const at::Tensor& tensor : module.buffers()) {
    if (tensor.defined() && !has_memory(tensor)) allocate(tensor);
  }
}

void give_device(torch::nn::Module& module, c10::Device device) {
  for (const at::Tensor& tensor : module.parameters()) {
    if (tensor.defined() && tensor.is_meta()) become(tensor, without_bytes(tensor, device));
  }
  for (const at::Tensor& tensor : module.buffers()) {
    if (tensor.defined() && tensor.is_meta()) become(tensor, without_bytes(tensor, device));
  }
}

void become(const at::Tensor& tensor, const at::Tensor& values) {
  tensor.unsafeGetTensorImpl()->shallow_copy_from(values.getIntrusivePtr());
}

bool has_memory(const at::Tensor& tensor) {
  return tensor.numel() == 0 || tensor.storage().nbytes() > 0;
}

void allocate(const at::Tensor& tensor) { become(tensor, unknown_values(tensor, tensor.device())); }

}  // namespace accel::runtime
