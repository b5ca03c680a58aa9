// Counts the memory that jobs take. Every change of the size of a job goes through these functions,
// so ClusterState::job_bytes never has to be computed from scratch.
//
// The newest generation record and the cause are counted separately (JobEntry::newest_bytes),
// because only they can still grow.
#pragma once

#include <cstdint>

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns twice the memory that the spec takes, because the published copy of the job has
// the spec too.
int64_t ResidentBytes(const v1::JobSpec& spec);

// Adds `more` bytes to the count of the job, or subtracts them if `more` is negative.
void CountBytes(int64_t more, JobEntry* entry, ClusterState* state);

// Counts the newest record and the cause again. Must be called after each change of either.
void CountNewest(JobEntry* entry, ClusterState* state);

// Makes the count of the newest record final, without the cause. Must be called before another
// record is added and the cause is cleared.
void SettleNewest(JobEntry* entry, ClusterState* state);

// Drops the oldest record. The count of that record must be final. It is final if a newer record
// exists or SettleNewest() was called.
void DropOldestRecord(JobEntry* entry, ClusterState* state);

// Counts a job that was restored from the store.
void RestoreBytes(JobEntry* entry, ClusterState* state);

}  // namespace accel::coordinator
