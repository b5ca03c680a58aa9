#include "coordinator/core/timed_out.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

v1::FailureCause TimedOut(const v1::Job& job, std::string message) {
  v1::FailureCause cause;
  const v1::GenerationRecord* generation = CurrentGeneration(job);
  cause.set_generation(generation == nullptr ? 0 : generation->generation());
  cause.set_rank(-1);
  cause.mutable_exit()->set_kind(v1::ExitRecord::TIMED_OUT);
  cause.mutable_exit()->set_message(std::move(message));
  return cause;
}

v1::FailureCause TimeLimitPassed(const v1::Job& job) {
  const absl::Duration limit = absl::Milliseconds(job.spec().time_limit_ms());
  return TimedOut(job,
                  absl::StrCat("its time limit of ", absl::FormatDuration(limit), " has passed"));
}

}  // namespace accel::coordinator
