#include "coordinator/core/job_state.h"

#include <utility>

#include "common/check.h"
#include "common/job_phase.h"

namespace accel::coordinator {

using v1::JobPhase;

bool IsLegal(JobPhase from, JobPhase to) {
  switch (from) {
    case v1::PENDING:
      return to == v1::STARTING || to == v1::FAILED || to == v1::CANCELLED;
    case v1::STARTING:
      return to == v1::RUNNING || to == v1::STOPPING;
    case v1::RUNNING:
      return to == v1::STOPPING;
    case v1::STOPPING:
      return to == v1::RESTARTING || common::IsFinal(to);
    case v1::RESTARTING:
      return to == v1::PENDING || to == v1::CANCELLED;
    default:
      return false;
  }
}

bool HoldsNodes(JobPhase phase) {
  return phase == v1::STARTING || phase == v1::RUNNING || phase == v1::STOPPING;
}

void Transition(v1::Job* job, JobPhase to, std::string reason) {
  ACCEL_CHECK(IsLegal(job->phase(), to), "the planner proposes legal steps only");
  job->set_phase(to);
  job->set_reason(std::move(reason));
  job->set_version(job->version() + 1);
  if (to != v1::STOPPING) job->clear_next();
}

}  // namespace accel::coordinator
