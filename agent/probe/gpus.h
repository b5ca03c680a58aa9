// Finds the GPUs that this node offers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/node.pb.h"

namespace accel::agent {

// Returns the node's GPUs, which it queries through NVML. Empty if the driver's library cannot be
// loaded. INTERNAL: the library is loaded but fails; the message has its error.
absl::StatusOr<std::vector<v1::Gpu>> ListGpus(const std::string& library = "libnvidia-ml.so.1");

// Returns the GPUs that CUDA_VISIBLE_DEVICES leaves visible, or all if it is unset. By CUDA's
// rules, the variable is a list of indexes or UUID prefixes. The first entry that names no GPU ends
// the list. Source: CUDA C++ Programming Guide, "CUDA Environment Variables".
std::vector<v1::Gpu> VisibleGpus(const std::vector<v1::Gpu>& all,
                                 const std::optional<std::string>& cuda_visible_devices);

}  // namespace accel::agent
