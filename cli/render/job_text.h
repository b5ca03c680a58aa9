// Renders jobs for people. Pure: `now` is a parameter. Text from outside is escaped. If
// `color`, phases have colors.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "proto/service.pb.h"

namespace accel::cli {

// Renders one line per job, in the given order.
std::string RenderJobs(const v1::ListJobsResponse& jobs, absl::Time now, bool color = false);

// Renders one job in full: phase and reason, the request, and each generation with its nodes, exit
// code and cause.
std::string RenderJob(const v1::Job& job, absl::Time now, bool color = false);

}  // namespace accel::cli
