#include "coordinator/core/grace.h"

namespace accel::coordinator {
namespace {

absl::Duration MillisOr(int64_t millis, absl::Duration otherwise) {
  return millis > 0 ? absl::Milliseconds(millis) : otherwise;
}

}  // namespace

absl::Duration FailureGrace(const Limits& limits, const v1::JobSpec& spec) {
  return MillisOr(spec.failure_grace_ms(), limits.failure_grace);
}

absl::Duration StopGrace(const Limits& limits, const v1::JobSpec& spec) {
  return MillisOr(spec.stop_grace_ms(), limits.cancel_grace);
}

absl::Duration StartDeadline(const Limits& limits, const v1::JobSpec& spec) {
  return MillisOr(spec.start_deadline_ms(), limits.start_deadline);
}

}  // namespace accel::coordinator
