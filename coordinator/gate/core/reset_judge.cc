#include "coordinator/gate/core/reset_judge.h"

#include <utility>

namespace accel::coordinator {

std::vector<int64_t> ResetJudge::Look(absl::Span<const StreamCounts> counts) {
  std::map<int64_t, int64_t> now;
  std::vector<int64_t> cut;
  for (const StreamCounts& each : counts) {
    const int64_t unfinished = each.started - each.succeeded;
    now[each.connection] = unfinished;
    if (!unfinished_.has_value()) continue;
    const auto before = unfinished_->find(each.connection);
    const int64_t growth = unfinished - (before == unfinished_->end() ? 0 : before->second);
    if (growth > kMaxUnfinished) cut.push_back(each.connection);
  }
  unfinished_ = std::move(now);
  return cut;
}

}  // namespace accel::coordinator
