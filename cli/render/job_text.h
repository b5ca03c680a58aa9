// Jobs as people read them. Pure: `now` is a value; what others wrote is escaped.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "proto/service.pb.h"

namespace accel::cli {

// One line per job, in the order given.
std::string RenderJobs(const v1::ListJobsResponse& jobs, absl::Time now);

// All that people ask of one job: phase and reason, what was asked for, each generation with its
// nodes, exit code and cause.
std::string RenderJob(const v1::Job& job, absl::Time now);

}  // namespace accel::cli
