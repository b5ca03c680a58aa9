// Submitting a job and following it to its end, through short absences of the coordinator.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/console.h"
#include "cli/coordinator_client.h"
#include "proto/job.pb.h"

namespace accel::cli {

// The id of the job. While the coordinator does not answer, asks again with the same submit id, so
// that there is one job however often it is asked for. Errors: of SubmitJob, or the last one after
// `patience`.
absl::StatusOr<std::string> SubmitPatiently(CoordinatorClient& client, const v1::JobSpec& spec,
                                            absl::Duration patience, const Console& console);

// The job in its final phase. A watch that breaks is opened again. Errors: of WatchJob, or
// UNAVAILABLE after `patience` without a word from the coordinator: the job may go on.
absl::StatusOr<v1::Job> WaitForEnd(CoordinatorClient& client, const std::string& job_id,
                                   absl::Duration patience, const Console& console);

}  // namespace accel::cli
