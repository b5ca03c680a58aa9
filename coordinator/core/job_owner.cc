#include "coordinator/core/job_owner.h"

#include "absl/strings/str_cat.h"

namespace accel::coordinator {

std::optional<std::string> OwnerOf(const common::JobId& id, const ClusterState& state) {
  const auto job = state.jobs.find(id);
  if (job != state.jobs.end()) return job->second.job.spec().owner();
  const EndedJob* ended = state.ended.Find(id);
  if (ended == nullptr) return std::nullopt;
  return ended->owner;
}

absl::Status NoSuchJob(const common::JobId& id) {
  return absl::NotFoundError(absl::StrCat("there is no job ", id.value()));
}

}  // namespace accel::coordinator
