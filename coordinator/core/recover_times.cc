#include "coordinator/core/recover_times.h"

#include <algorithm>
#include <vector>

#include "coordinator/core/counting.h"
#include "coordinator/core/grace.h"

namespace accel::coordinator {

absl::Time FromStored(int64_t stored_us, absl::Duration shift, absl::Time unset) {
  return stored_us == 0 ? unset : absl::FromUnixMicros(stored_us) + shift;
}

void ReadTimes(const v1::StoredJob& stored, absl::Duration shift, JobEntry* entry) {
  entry->start_by = FromStored(stored.start_by_us(), shift, absl::InfiniteFuture());
  entry->end_by = FromStored(stored.end_by_us(), shift, absl::InfiniteFuture());
  entry->started = FromStored(stored.started_us(), shift, absl::Time());
  entry->not_before = FromStored(stored.not_before_us(), shift, absl::InfinitePast());
  entry->failed = {FromStored(stored.failed_earliest_us(), shift, absl::Time()),
                   FromStored(stored.failed_latest_us(), shift, absl::Time())};
  for (const int64_t at : stored.failures_us()) {
    entry->history.failures.push_back(FromStored(at, shift, absl::Time()));
  }
  for (const int64_t at : stored.membership_changes_us()) {
    entry->history.membership_changes.push_back(FromStored(at, shift, absl::Time()));
  }
}

void LimitTimes(const ClusterState& state, absl::Time now, JobEntry* entry) {
  const Limits& limits = state.limits;
  const v1::JobSpec& spec = entry->job.spec();
  if (entry->start_by != absl::InfiniteFuture()) {
    entry->start_by = std::min(entry->start_by, now + StartDeadline(limits, spec));
    // The nodes need time to connect again before they can report a start.
    entry->start_by =
        std::max(entry->start_by, now + limits.longest_reconnect + NodeTimeout(state));
  }
  if (entry->end_by != absl::InfiniteFuture()) {
    entry->end_by = std::min(entry->end_by, now + absl::Milliseconds(spec.time_limit_ms()));
  }
  entry->not_before = std::min(entry->not_before, now + limits.longest_restart_pause);
  // Nodes that reconnect at once have reported by then, so the reason does not name them meanwhile.
  entry->explain_at = now + kExplainAfter;
  for (absl::Time* past : {&entry->started, &entry->failed.earliest, &entry->failed.latest}) {
    *past = std::min(*past, now);
  }
  for (std::vector<absl::Time>* times :
       {&entry->history.failures, &entry->history.membership_changes}) {
    for (absl::Time& past : *times) past = std::min(past, now);
  }
}

}  // namespace accel::coordinator
