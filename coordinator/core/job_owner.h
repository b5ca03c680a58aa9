// The owner of a job, also of a job that is no longer kept in full.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns JobSpec.owner of a job, also of a job that is no longer kept in full. nullopt if there is
// no such job.
std::optional<std::string> OwnerOf(const common::JobId& id, const ClusterState& state);

// Returns the error about an unknown job. A caller who may not know a job gets the same error.
absl::Status NoSuchJob(const common::JobId& id);

}  // namespace accel::coordinator
