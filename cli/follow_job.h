// Submits a job and follows it to its end, retrying while the coordinator is briefly unreachable.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/console.h"
#include "cli/coordinator_client.h"
#include "proto/job.pb.h"

namespace accel::cli {

// Submits the job and returns its id. Retries while the coordinator does not answer. All attempts
// have the same submit id, so that they create only one job. Returns the last error once
// `retry_for` has passed. Errors are those of SubmitJob.
absl::StatusOr<std::string> SubmitWithRetries(CoordinatorClient& client, const v1::JobSpec& spec,
                                              absl::Duration retry_for, const Console& console);

// Blocks until `has_come` returns true for the job, or the job is in its final phase, and returns
// the job. Opens a broken watch again. UNAVAILABLE: the coordinator has been silent for
// `retry_for`; the job may still be running. Other errors are those of WatchJob.
absl::StatusOr<v1::Job> WaitForJob(CoordinatorClient& client, const std::string& job_id,
                                   const std::function<bool(const v1::Job&)>& has_come,
                                   absl::Duration retry_for, const Console& console);

// Blocks until the job is in its final phase, and returns it. Errors are those of WaitForJob().
absl::StatusOr<v1::Job> WaitForEnd(CoordinatorClient& client, const std::string& job_id,
                                   absl::Duration retry_for, const Console& console);

}  // namespace accel::cli
