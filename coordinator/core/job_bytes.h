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

// Drops the oldest record but the first, and the first if there are no more than two. The first one
// says how the trouble of a job began that fails again and again. Returns the generation of the
// record. The counts of all records must be final. They are after SettleNewest().
common::Generation DropRecord(JobEntry* entry, ClusterState* state);

// Counts a job that was restored from the store.
void RestoreBytes(JobEntry* entry, ClusterState* state);

}  // namespace accel::coordinator
