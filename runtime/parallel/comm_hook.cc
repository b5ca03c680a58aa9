#include "runtime/parallel/comm_hook.h"

#include "runtime/comm/communicator.h"
#include "runtime/parallel/libtorch.h"

namespace accel::runtime {
namespace {

using c10::ivalue::Future;

class CompressedAllReduce final
    : public c10d::CppCommHookInterface<c10::intrusive_ptr<c10d::ProcessGroup>> {
 public:
  CompressedAllReduce(const c10::intrusive_ptr<c10d::ProcessGroup>& process_group,
                      at::ScalarType dtype)
      : CppCommHookInterface(process_group), dtype_(dtype) {}

  c10::intrusive_ptr<Future> runHook(c10d::GradBucket& bucket) override {
    const at::Tensor gradients = bucket.getBuffer();
    // Divides before the sum, because the sum could overflow the smaller dtype.
    std::vector<at::Tensor> compressed{gradients.to(dtype_).div_(state_->getSize())};
    return state_->allreduce(compressed)
        ->getFuture()
        ->then(
            [gradients](Future& reduced) {
              gradients.copy_(reduced.value().toTensorVector().front());
              return c10::IValue(gradients);
            },
            c10::TensorType::get());
  }

 private:
  const at::ScalarType dtype_;
};

}  // namespace

std::unique_ptr<c10d::CommHookInterface> make_comm_hook(CommHook hook,
                                                        const Communicator& communicator) {
  if (hook == CommHook::kNone) return nullptr;
  return std::make_unique<CompressedAllReduce>(communicator.process_group(),
                                               hook == CommHook::kFp16 ? at::kHalf : at::kBFloat16);
}

}  // namespace accel::runtime
