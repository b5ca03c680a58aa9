// Renders a failed job for the person who has to find out why. Pure. Text from outside is escaped.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "proto/job.pb.h"

namespace accel::cli {

// Returns at most ten lines. They have the end of the job, its first failure with the last lines of
// that rank, and the later failures. They also have the number of restarts, and what to do. The job
// must be FAILED. Times of day are those of `zone`.
std::string RenderFailedJob(const v1::Job& job, absl::Time now, absl::TimeZone zone);

}  // namespace accel::cli
