#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/core/running_loops.h"
#include "runtime/data/device_transfer.h"

namespace accel {

class Communicator;

// What prepare() tells a data loader about the world. By default: one process, nothing moved.
struct LoaderContext {
  bool prepared = false;
  std::size_t num_processes = 1;
  std::size_t process_index = 0;
  bool split_batches = false;
  bool even_batches = true;
  std::optional<bool> dispatch_batches = {};  // std::nullopt: streams whose batches are tensors.
  std::optional<std::uint64_t> seed = {};     // The same on every rank.
  std::shared_ptr<const DeviceTransfer> transfer = std::make_shared<DeviceTransfer>();
  std::shared_ptr<RunningLoops> active = std::make_shared<RunningLoops>();
  std::shared_ptr<Communicator> communicator = {};  // Needed to dispatch.
  std::function<void()> before_epoch = {};          // Collective; may be empty.
};

}  // namespace accel
