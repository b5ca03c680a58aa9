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

// Submits the job and returns its id. Retries with the same submit id while the coordinator does
// not answer, so that repeated requests create one job only. Errors: those of SubmitJob, or the
// last one once `retry_for` has passed.
absl::StatusOr<std::string> SubmitWithRetries(CoordinatorClient& client, const v1::JobSpec& spec,
                                              absl::Duration retry_for, const Console& console);

// Returns the job as soon as `has_come` returns true for it, or in its final phase. A broken watch
// is opened again. Errors: those of WatchJob, or UNAVAILABLE if the coordinator has been silent for
// `retry_for`; the job may still be running.
absl::StatusOr<v1::Job> WaitForJob(CoordinatorClient& client, const std::string& job_id,
                                   const std::function<bool(const v1::Job&)>& has_come,
                                   absl::Duration retry_for, const Console& console);

// Returns the job in its final phase. Errors: those of WaitForJob().
absl::StatusOr<v1::Job> WaitForEnd(CoordinatorClient& client, const std::string& job_id,
                                   absl::Duration retry_for, const Console& console);

}  // namespace accel::cli
