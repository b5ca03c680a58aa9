#include "cli/find_job.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/escape.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr size_t kMaxNamed = 5;

}  // namespace

absl::StatusOr<v1::Job> OnlyMatch(const v1::ListJobsResponse& jobs, absl::string_view prefix) {
  std::vector<const v1::Job*> matches;
  for (const v1::Job& job : jobs.jobs()) {
    if (absl::StartsWith(job.job_id(), prefix)) matches.push_back(&job);
  }
  if (matches.size() == 1) return *matches[0];
  if (matches.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no job ", EscapeControls(prefix),
                                            "; `accel status` lists the jobs"));
  }
  std::vector<std::string> ids;
  for (size_t i = 0; i < matches.size() && i < kMaxNamed; ++i) ids.push_back(matches[i]->job_id());
  if (matches.size() > kMaxNamed) ids.push_back("…");
  return absl::FailedPreconditionError(absl::StrCat(
      matches.size(), " jobs begin with ", EscapeControls(prefix), ": ", absl::StrJoin(ids, ", ")));
}

absl::StatusOr<v1::Job> FindJob(CoordinatorClient& client, const std::string& id_or_prefix) {
  if (id_or_prefix.empty()) return absl::InvalidArgumentError("JOB must not be empty");
  auto exact = client.ListJobs(id_or_prefix);
  if (exact.ok()) return OnlyMatch(*exact, id_or_prefix);
  if (!absl::IsNotFound(exact.status())) return exact.status();
  ACCEL_ASSIGN_OR_RETURN(const v1::ListJobsResponse all, client.ListJobs(""));
  return OnlyMatch(all, id_or_prefix);
}

}  // namespace accel::cli
