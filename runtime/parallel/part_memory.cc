#include "runtime/parallel/part_memory.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

namespace accel::runtime {

at::Tensor PartMemory::zeros(std::int64_t elements, at::ScalarType dtype) const {
  const auto options = at::TensorOptions(dtype);
  return is_apart_ ? at::zeros({elements}, options.device(at::kCPU).pinned_memory(true))
                   : at::zeros({elements}, options.device(device_));
}

at::Tensor PartMemory::on_device(const at::Tensor& part) {
  if (!is_apart_) return part;
  const at::Tensor copy = part.to(device_, /*non_blocking=*/true);
  note_queued();
  return copy;
}

at::Tensor PartMemory::part_of(const at::Tensor& on_device) {
  if (!is_apart_) return on_device;
  const auto options = at::TensorOptions(on_device.scalar_type()).device(at::kCPU);
  const at::Tensor part = at::empty(on_device.sizes(), options.pinned_memory(true));
  part.copy_(on_device, /*non_blocking=*/true);
  note_queued();
  return part;
}

void PartMemory::note_queued() {
  const c10::Stream stream = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  auto last = std::ranges::find(queued_, stream, &Queued::stream);
  if (last == queued_.end()) {
    last = queued_.insert(last, {.stream = stream, .event = c10::Event(device_.type())});
  }
  last->event.record(stream);
}

void PartMemory::wait() const {
  for (const Queued& copy : queued_) copy.event.synchronize();
}

}  // namespace accel::runtime
