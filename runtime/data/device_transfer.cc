#include "runtime/data/device_transfer.h"

#include "runtime/data/libtorch.h"

namespace accel::runtime {

// Each kind of device registers its streams and events with c10, so CUDA need not be linked.
using Streams = c10::impl::VirtualGuardImpl;

DeviceTransfer::DeviceTransfer(std::optional<c10::Device> device, bool pin_memory,
                               bool non_blocking, std::optional<c10::Device> home)
    : device_(device),
      home_(device ? device : home),
      pins_(pin_memory && device && !device->is_cpu()) {
  if (non_blocking && device && !device->is_cpu()) {
    stream_ =
        std::make_shared<c10::Stream>(Streams(device->type()).getStreamFromGlobalPool(*device));
  }
}

void DeviceTransfer::enter_thread() const {
  if (home_ && !home_->is_cpu()) Streams(home_->type()).setDevice(*home_);
}

at::Tensor DeviceTransfer::pinned(const at::Tensor& tensor) {
  return tensor.is_cpu() ? tensor.pin_memory() : tensor;
}

at::Tensor DeviceTransfer::copied(const at::Tensor& tensor) const {
  if (!device_) return tensor;
  // Waits for a copy to the host, because the host reads it without looking at a stream.
  return tensor.to(*device_, /*non_blocking=*/tensor.is_cpu() && !device_->is_cpu());
}

at::Tensor DeviceTransfer::used(const at::Tensor& tensor) {
  const Streams streams(tensor.device().type());
  if (tensor.has_storage()) {
    streams.recordDataPtrOnStream(tensor.storage().data_ptr(), streams.getStream(tensor.device()));
  }
  return tensor;
}

void DeviceTransfer::run_in_copy_stream(const std::function<void()>& work,
                                        bool after_current) const {
  if (stream_ == nullptr) return work();
  if (after_current) {
    c10::Event computed(device_->type());
    computed.record(Streams(device_->type()).getStream(*device_));
    computed.block(*stream_);
  }
  const c10::StreamGuard on(*stream_);
  work();
}

CopyEvent DeviceTransfer::run(const std::function<void()>& copy) const {
  if (stream_ == nullptr) {
    copy();
    return nullptr;
  }
  const c10::StreamGuard on(*stream_);
  copy();
  auto done = std::make_shared<c10::Event>(device_->type());
  done->record(*stream_);
  return done;
}

void DeviceTransfer::wait(const c10::Event& done) const {
  done.block(Streams(device_->type()).getStream(*device_));
}

}  // namespace accel::runtime
