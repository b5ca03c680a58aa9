// What must be true of the jobs that a coordinator has published, whatever happens to it in
// between. Pure. All errors are FAILED_PRECONDITION, and say what was found.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/job.pb.h"

namespace accel::simulation {

// Checks a version of a job against the one that was published before, perhaps by a coordinator
// that has died since: the version rises, a final phase and the plan of a generation do not change,
// and nothing that was counted is forgotten.
absl::Status CheckChange(const v1::Job& before, const v1::Job& after);

// Checks that no generation was placed after a client was told that the job is cancelled.
absl::Status CheckCancelled(const v1::Job& job, absl::Time told);

// Checks that a job is being stopped once its time limit is over. `publishes_since`: a coordinator
// runs without a gap since then, and no commit has failed.
absl::Status CheckTimeLimit(const v1::Job& job, absl::Time publishes_since, absl::Time now);

}  // namespace accel::simulation
