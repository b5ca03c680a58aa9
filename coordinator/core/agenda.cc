#include "coordinator/core/agenda.h"

#include <algorithm>

namespace accel::coordinator {

void Agenda::WakeAt(const common::JobId& job, absl::Time time) {
  const auto found = times_.find(job);
  if (found != times_.end()) {
    if (found->second == time) return;
    by_time_.erase({found->second, job});
    times_.erase(found);
  }
  if (time == absl::InfiniteFuture()) return;
  times_.emplace(job, time);
  by_time_.emplace(time, job);
}

void Agenda::WakeBy(const common::JobId& job, absl::Time time) {
  const auto found = times_.find(job);
  if (found == times_.end() || time < found->second) WakeAt(job, time);
}

Agenda::Due Agenda::Take(absl::Time now) {
  while (!by_time_.empty() && by_time_.begin()->first <= now) {
    touched_.insert(by_time_.begin()->second);
    times_.erase(by_time_.begin()->second);
    by_time_.erase(by_time_.begin());
  }
  Due due;
  due.jobs.assign(touched_.begin(), touched_.end());
  due.queue = queue_touched_ || queue_at_ <= now;
  touched_.clear();
  queue_touched_ = false;
  if (due.queue) queue_at_ = absl::InfiniteFuture();
  return due;
}

absl::Time Agenda::next() const {
  if (queue_touched_ || !touched_.empty()) return absl::InfinitePast();
  return by_time_.empty() ? queue_at_ : std::min(queue_at_, by_time_.begin()->first);
}

}  // namespace accel::coordinator
