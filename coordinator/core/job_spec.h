// Validates a JobSpec. No other file does, and the planner and the agents rely on the result.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace accel::coordinator {

inline constexpr int64_t kMaxArgvBytes = 1 << 20;
inline constexpr int kMaxArguments = 16'384;
inline constexpr int64_t kMaxEnvBytes = 1 << 20;
inline constexpr int kMaxNodesPerJob = 10'000;
inline constexpr int kMaxProcessesPerNode = 1024;
inline constexpr int kMaxRestarts = 10'000;

// Returns true if the job may run on fewer nodes than `nodes`.
bool IsElastic(const v1::JobSpec& spec);

// Returns the least number of nodes on which the job may run.
int MinNodes(const v1::JobSpec& spec);

// Returns a text that is equal for jobs that ask for the same nodes, processes and GPUs.
std::string ShapeOf(const v1::JobSpec& spec);

// Returns INVALID_ARGUMENT if the numbers of nodes, processes and GPUs in the spec are not
// possible. The planner relies on this check. A stored spec is checked too, because its other
// fields obey the rules of the version that accepted it.
absl::Status ValidateShape(const v1::JobSpec& spec);

// Returns INVALID_ARGUMENT if a field is invalid, or if the spec has a field that only a later
// version knows. The message names the field.
absl::Status ValidateJobSpec(const v1::JobSpec& spec);

}  // namespace accel::coordinator
