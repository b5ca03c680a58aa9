#include "coordinator/gate/core/reset_judge.h"

#include <algorithm>
#include <utility>

namespace accel::coordinator {

std::vector<int64_t> ResetJudge::Look(absl::Span<const StreamCounts> counts, absl::Time now) {
  const double paid = kPaidPerSecond * absl::ToDoubleSeconds(now - std::exchange(last_, now));
  std::map<int64_t, Account> accounts;
  std::vector<int64_t> cut;
  for (const StreamCounts& each : counts) {
    const int64_t unfinished = each.started - each.succeeded;
    const auto known = accounts_.find(each.connection);
    const Account before = known == accounts_.end() ? Account() : known->second;
    const auto growth = static_cast<double>(unfinished - before.unfinished);
    const double debt = std::max(0.0, before.debt + growth - paid);
    accounts[each.connection] = {unfinished, debt};
    if (debt > kMaxDebt) cut.push_back(each.connection);
  }
  accounts_ = std::move(accounts);
  return cut;
}

}  // namespace accel::coordinator
