#include "coordinator/blobs/upload_access.h"

#include <algorithm>

#include "common/job_phase.h"
#include "coordinator/access/job_access.h"

namespace accel::coordinator {

bool MayReadUpload(const Caller& caller, const v1::Job& job) {
  if (caller.kind != CallerKind::kNode) return Owns(caller, job.spec().owner());
  if (common::IsFinal(job.phase()) || job.generations().empty()) return false;
  const auto& placements = job.generations().rbegin()->placements();
  return std::any_of(placements.begin(), placements.end(), [&](const v1::Placement& placement) {
    return placement.node_id() == caller.name;
  });
}

}  // namespace accel::coordinator
