// The times of a recovered job: their translation to the present monotonic clock, and their bounds.
// recover.h says why both are needed. Used by recover.cc.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"
#include "proto/store.pb.h"

namespace accel::coordinator {

// Returns a stored time, moved by `shift` from the stored monotonic clock to the present one.
// Returns `unset` if nothing is stored.
absl::Time FromStored(int64_t stored_us, absl::Duration shift, absl::Time unset);

// Reads all times of a job, including those of its history. `shift` is as in FromStored().
void ReadTimes(const v1::StoredJob& stored, absl::Duration shift, JobEntry* entry);

// Bounds the times of an unfinished job by `now`, the time at which the coordinator starts. No
// deadline is further away than when it was set, and nothing has happened in the future. A job that
// starts also gets the time that nodes need to connect again. Needs the job's spec and all nodes of
// the state.
void LimitTimes(const ClusterState& state, absl::Time now, JobEntry* entry);

}  // namespace accel::coordinator
