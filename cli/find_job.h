// The job that somebody means by an id or its beginning.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/coordinator_client.h"
#include "proto/service.pb.h"

namespace accel::cli {

// The only job whose id begins with `prefix`. NOT_FOUND: none. FAILED_PRECONDITION: several, with
// their ids.
absl::StatusOr<v1::Job> OnlyMatch(const v1::ListJobsResponse& jobs, absl::string_view prefix);

// Asks for the id as it is, then for all jobs. Errors: the above, and of the call.
absl::StatusOr<v1::Job> FindJob(CoordinatorClient& client, const std::string& id_or_prefix);

}  // namespace accel::cli
