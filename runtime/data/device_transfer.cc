#include "runtime/data/device_transfer.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace accel {

// Through the interfaces that each kind of device registers: no CUDA is linked.
using Streams = c10::impl::VirtualGuardImpl;

DeviceTransfer::DeviceTransfer(std::optional<c10::Device> device, bool pin_memory,
                               bool non_blocking)
    : device_(device), pins_(pin_memory && device && !device->is_cpu()) {
  if (non_blocking && device && !device->is_cpu()) {
    stream_ =
        std::make_shared<c10::Stream>(Streams(device->type()).getStreamFromGlobalPool(*device));
  }
}

at::Tensor DeviceTransfer::pinned(const at::Tensor& tensor) {
  return tensor.is_cpu() ? tensor.pin_memory() : tensor;
}

at::Tensor DeviceTransfer::copied(const at::Tensor& tensor) const {
  if (!device_) return tensor;
  // Without waiting only from the host: the other way it would be read before it is there.
  return tensor.to(*device_, /*non_blocking=*/tensor.is_cpu() && !device_->is_cpu());
}

at::Tensor DeviceTransfer::used(const at::Tensor& tensor) {
  const Streams streams(tensor.device().type());
  if (tensor.has_storage()) {
    streams.recordDataPtrOnStream(tensor.storage().data_ptr(), streams.getStream(tensor.device()));
  }
  return tensor;
}

void DeviceTransfer::beside(const std::function<void()>& work, bool after_current) const {
  if (stream_ == nullptr) return work();
  if (after_current) {
    c10::Event made(device_->type());
    made.record(Streams(device_->type()).getStream(*device_));
    made.block(*stream_);
  }
  const c10::StreamGuard on(*stream_);
  work();
}

Arrival DeviceTransfer::run(const std::function<void()>& copy) const {
  if (stream_ == nullptr) {
    copy();
    return nullptr;
  }
  const c10::StreamGuard on(*stream_);
  copy();
  auto arrival = std::make_shared<c10::Event>(device_->type());
  arrival->record(*stream_);
  return arrival;
}

void DeviceTransfer::wait(const c10::Event& arrival) const {
  arrival.block(Streams(device_->type()).getStream(*device_));
}

}  // namespace accel
