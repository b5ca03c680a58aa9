// What this node is, asked once at the start of the agent.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "proto/node.pb.h"

namespace accel::agent {

// Processors this process may use, memory, and the GPUs that CUDA_VISIBLE_DEVICES leaves.
// `with_gpus` false: the driver is not asked. INTERNAL: a driver that fails.
absl::StatusOr<v1::Inventory> ProbeInventory(bool with_gpus);

// Tells one boot of the machine from the next.
std::string BootId();

std::string HostName();

}  // namespace accel::agent
