#include "runtime/recompute/saved_input.h"

#include <atomic>

namespace accel::runtime {
namespace {

// Each kind of device registers its streams with c10, so CUDA need not be linked.
using Streams = c10::impl::VirtualGuardImpl;

std::atomic<int> wishes = 0;

bool is_copied(const at::Tensor& input) {
  return wishes > 0 && input.defined() && !input.is_cpu() && !input.is_meta() && !input.is_leaf() &&
         input.layout() == at::kStrided && !input.is_nested() && !input.is_conj() &&
         !input.is_neg() && at::has_internal_overlap(input) != at::MemOverlap::Yes;
}

}  // namespace

InputsOnHost::InputsOnHost() { ++wishes; }
InputsOnHost::~InputsOnHost() { --wishes; }

SavedInput::SavedInput(const at::Tensor& input) {
  if (is_copied(input)) {
    copy_ = to_host(input);
  } else {
    kept_ = torch::autograd::SavedVariable(input, /*is_output=*/false);
  }
}

SavedInput::HostCopy SavedInput::to_host(const at::Tensor& input) {
  const at::NoGradGuard no_graph;
  // A copy of memory with gaps would pass through memory that is not pinned.
  const at::Tensor dense = input.is_non_overlapping_and_dense() ? input : input.contiguous();
  const auto on_host = input.options().device(at::kCPU).pinned_memory(true);
  HostCopy copy{.values = at::empty_like(dense, on_host, at::MemoryFormat::Preserve),
                .copied = c10::Event(input.device().type()),
                .device = input.device(),
                .strides = input.strides().vec(),
                .requires_grad = input.requires_grad()};
  copy.values.copy_(dense, /*non_blocking=*/true);
  copy.copied.record(Streams(copy.device.type()).getStream(copy.device));
  return copy;
}

at::Tensor SavedInput::unpack() const {
  if (!copy_) return kept_.unpack();
  const at::NoGradGuard no_graph;
  copy_->copied.block(Streams(copy_->device.type()).getStream(copy_->device));
  const at::Tensor input = at::empty_strided(copy_->values.sizes(), copy_->strides,
                                             copy_->values.options().device(copy_->device));
  input.copy_(copy_->values, /*non_blocking=*/true);
  return input.requires_grad_(copy_->requires_grad);
}

void SavedInput::reset() {
  kept_.reset_data();
  copy_.reset();
}

}  // namespace accel::runtime
