#include "coordinator/access/job_access.h"

namespace accel::coordinator {

bool Owns(const Caller& caller, const std::string& owner) {
  return IsAdmin(caller) ||
         (caller.kind == CallerKind::kUser && !owner.empty() && caller.name == owner);
}

v1::Job ForOthers(const v1::Job& job) {
  v1::Job shown = job;
  shown.clear_submit_id();
  shown.mutable_spec()->clear_env();
  shown.mutable_spec()->clear_argv();
  shown.mutable_spec()->clear_required_paths();
  shown.mutable_spec()->clear_upload();
  shown.mutable_cause()->clear_last_lines();
  if (!job.has_cause()) shown.clear_cause();
  for (v1::GenerationRecord& generation : *shown.mutable_generations()) {
    if (generation.has_cause()) generation.mutable_cause()->clear_last_lines();
  }
  return shown;
}

}  // namespace accel::coordinator
