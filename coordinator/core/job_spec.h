// Validates a JobSpec. This is the only place that does: the planner and the agents rely on it.
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

// Returns INVALID_ARGUMENT if the spec asks for no possible numbers of nodes, processes and GPUs.
// The planner relies on this also for a stored spec, whose other fields obey the rules of the
// version that took it.
absl::Status ValidateShape(const v1::JobSpec& spec);

// Returns INVALID_ARGUMENT if a field is invalid. The message starts with the field's name.
absl::Status ValidateJobSpec(const v1::JobSpec& spec);

}  // namespace accel::coordinator
