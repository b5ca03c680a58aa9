// Which GPUs this node offers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/node.pb.h"

namespace accel::agent {

// The GPUs of the node through NVML, loaded now; none where the driver's library is missing.
// INTERNAL: the library is there but fails, with its error.
absl::StatusOr<std::vector<v1::Gpu>> ListGpus(const std::string& library = "libnvidia-ml.so.1");

// Those that CUDA_VISIBLE_DEVICES leaves (unset: all), by CUDA's own rules: a list of indexes or
// UUID prefixes, read up to the first entry that names no GPU. Source: CUDA C++ Programming Guide,
// "CUDA Environment Variables".
std::vector<v1::Gpu> VisibleGpus(const std::vector<v1::Gpu>& all,
                                 const std::optional<std::string>& cuda_visible_devices);

}  // namespace accel::agent
