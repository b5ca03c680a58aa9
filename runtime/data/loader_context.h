#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/core/running_loops.h"
#include "runtime/data/device_transfer.h"

namespace accel::runtime {

class Communicator;

// The settings that prepare() gives a data loader. By default there is one process, and batches are
// not moved to a device.
struct LoaderContext {
  bool prepared = false;
  std::size_t num_processes = 1;
  std::size_t process_index = 0;
  bool split_batches = false;
  bool even_batches = true;
  // True if rank 0 reads for all ranks. If unset, rank 0 does so for streams whose
  // batches are tensors.
  std::optional<bool> dispatch_batches = {};
  // The seed of the order of samplers, which is the same on every rank. If unset, samplers draw
  // from the process-wide generator.
  std::optional<std::uint64_t> seed = {};
  std::shared_ptr<const DeviceTransfer> transfer = std::make_shared<DeviceTransfer>();
  // The loops of this process.
  std::shared_ptr<RunningLoops> loops = std::make_shared<RunningLoops>();
  // Null in a world of one. Loaders that dispatch need it.
  std::shared_ptr<Communicator> communicator = {};
  // Called before each epoch, on all ranks; may be empty.
  std::function<void()> before_epoch = {};
};

}  // namespace accel::runtime
