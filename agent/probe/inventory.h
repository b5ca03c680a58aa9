// Facts about this node, collected once when the agent starts.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/node.pb.h"

namespace accel::agent {

// Returns the processors that this process may use, the memory, and the GPUs that
// CUDA_VISIBLE_DEVICES leaves visible. If `with_gpus` is false, the driver is not asked.
// INTERNAL: the driver fails.
absl::StatusOr<v1::Inventory> ProbeInventory(bool with_gpus);

std::string HostName();

}  // namespace accel::agent
