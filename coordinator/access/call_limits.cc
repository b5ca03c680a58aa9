#include "coordinator/access/call_limits.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"

namespace accel::coordinator {

absl::Status CallLimits::CountSubmit(const std::string& user, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  Submits& submits = submits_[user];
  const double forgotten = kSubmitsPerSecond * absl::ToDoubleSeconds(now - submits.last);
  submits.last = now;
  submits.recent = std::max(0.0, submits.recent - forgotten);
  if (submits.recent + 1 > kSubmitBurst) {
    return absl::UnavailableError(absl::StrCat(user, " submits more than ", kSubmitsPerSecond,
                                               " jobs per second; try again later"));
  }
  submits.recent += 1;
  return absl::OkStatus();
}

absl::StatusOr<CallPlace> CallLimits::Take(const Caller& caller, const AccessRule& rule,
                                           absl::Time now) {
  if (caller.kind == CallerKind::kOwner) return CallPlace();
  const Key key(caller.kind, caller.name, rule.method);
  {
    absl::MutexLock lock(&counts_->mutex);
    int& in_progress = counts_->in_progress[key];
    if (in_progress >= rule.at_once) {
      const absl::string_view method = rule.name.substr(rule.name.rfind('.') + 1);
      return absl::UnavailableError(
          absl::StrCat(caller.name, " has ", in_progress, " calls of ", method,
                       " in progress, which is the maximum; try again when one has ended"));
    }
    ++in_progress;
  }
  CallPlace place(std::shared_ptr<void>(nullptr, [counts = counts_, key](void*) {
    absl::MutexLock lock(&counts->mutex);
    const auto found = counts->in_progress.find(key);
    if (--found->second == 0) counts->in_progress.erase(found);
  }));
  if (rule.method == Method::kSubmitJob) ACCEL_RETURN_IF_ERROR(CountSubmit(caller.name, now));
  return place;
}

}  // namespace accel::coordinator
