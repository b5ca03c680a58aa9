// Finds the job that a user names by its id or the beginning of its id.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/coordinator_client.h"
#include "proto/service.pb.h"

namespace accel::cli {

// Returns the only job whose id begins with `prefix`. NOT_FOUND: there is none.
// FAILED_PRECONDITION: there are several; the message lists their ids.
absl::StatusOr<v1::Job> OnlyMatch(const v1::ListJobsResponse& jobs, absl::string_view prefix);

// Returns the job with this id, or the only job whose id begins with it. Asks the coordinator for
// the exact id first, and then for all jobs. INVALID_ARGUMENT: `id_or_prefix` is empty. Otherwise
// the errors of OnlyMatch() and of CoordinatorClient::ListJobs().
absl::StatusOr<v1::Job> FindJob(CoordinatorClient& client, const std::string& id_or_prefix);

}  // namespace accel::cli
