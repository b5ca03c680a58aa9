// What jobs take in memory, counted while they change.
#pragma once

#include <cstdint>

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Twice what the spec takes: the state has it, and so has the copy that is published.
int64_t ResidentBytes(const v1::JobSpec& spec);

// The job has so many bytes more, or fewer.
void CountBytes(int64_t more, JobEntry* entry, ClusterState* state);

// After a change of its newest generation's record or of its cause.
void CountNewest(JobEntry* entry, ClusterState* state);

// Its newest record is about to be followed by another, and its cause is about to be cleared.
void SettleNewest(JobEntry* entry, ClusterState* state);

// Drops the oldest record, which is not the newest.
void DropOldestRecord(JobEntry* entry, ClusterState* state);

// Counts all of a job that was not made here.
void RestoreBytes(JobEntry* entry, ClusterState* state);

}  // namespace accel::coordinator
