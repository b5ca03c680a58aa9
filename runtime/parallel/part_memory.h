// The place of the parts of a sharded model: the device that computes, or
// the host (docs/decisions/0087).
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <vector>

#include "runtime/parallel/libtorch.h"

namespace accel::runtime {

// The memory of parts, and the copies between parts and the device. Parts on the host are in pinned
// memory, and copies of them are queued on the device's current stream. So the host must wait
// before it reads or writes a part (docs/decisions/0087). If the parts are on the device, nothing
// is copied. Not thread-safe.
class PartMemory {
 public:
  // If `is_on_host`, parts are in the host's memory. If the device is the CPU, they are there
  // in any case.
  PartMemory(c10::Device device, bool is_on_host)
      : device_(device), is_apart_(is_on_host && !device.is_cpu()) {}

  // Returns a part of zeros.
  at::Tensor zeros(std::int64_t elements, at::ScalarType dtype) const;

  // Returns the part on the device. If parts are on the device, returns `part` itself. The host
  // must not write to the part before wait().
  at::Tensor on_device(const at::Tensor& part);
  // Returns a new part with the values of a tensor of the device. If parts are on the device,
  // returns that tensor itself. The host must not read the part before wait().
  at::Tensor part_of(const at::Tensor& on_device);

  // Waits for the copies that have been queued.
  void wait() const;

 private:
  void note_queued();

  const c10::Device device_;
  const bool is_apart_;
  struct Queued {
    c10::Stream stream;
    c10::Event event;
  };
  std::vector<Queued> queued_;  // The last copy of each stream.
};

}  // namespace accel::runtime
