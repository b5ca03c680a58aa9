// Finds the GPUs that this node offers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/node.pb.h"

namespace accel::agent {

// Returns the node's GPUs through NVML, which is loaded at run time. Empty if the driver's library
// is missing. INTERNAL: the library exists but fails; the message has its error.
absl::StatusOr<std::vector<v1::Gpu>> ListGpus(const std::string& library = "libnvidia-ml.so.1");

// Returns the GPUs that CUDA_VISIBLE_DEVICES leaves visible (all if unset), by CUDA's own rules: a
// list of indexes or UUID prefixes, read up to the first entry that names no GPU. Source: CUDA C++
// Programming Guide, "CUDA Environment Variables".
std::vector<v1::Gpu> VisibleGpus(const std::vector<v1::Gpu>& all,
                                 const std::optional<std::string>& cuda_visible_devices);

}  // namespace accel::agent
