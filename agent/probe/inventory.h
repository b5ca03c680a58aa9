// Facts about this node, collected once when the agent starts.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/node.pb.h"

namespace accel::agent {

// Returns the number of processors that this process may use, the size of the memory, and the GPUs
// that CUDA_VISIBLE_DEVICES leaves visible. If `with_gpus` is false, returns no GPUs and does not
// load the driver's library. INTERNAL: the driver fails.
absl::StatusOr<v1::Inventory> ProbeInventory(bool with_gpus);

std::string HostName();

}  // namespace accel::agent
