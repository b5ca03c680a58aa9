#include "agent/core/cluster_membership.h"

#include <algorithm>

namespace accel::agent {

ClusterMembership::Verdict ClusterMembership::Judge(const std::string& coordinator,
                                                    const ClusterHoldings& holdings,
                                                    absl::Time now) {
  const absl::Time since = std::exchange(only_results_since_, absl::InfiniteFuture());
  if (coordinator.empty() || coordinator == cluster_) return Verdict::kObey;
  if (cluster_.empty()) return Verdict::kJoin;
  if (holdings.processes) return Verdict::kRefuse;
  if (!holdings.results) return Verdict::kJoin;
  only_results_since_ = std::min(since, now);
  return now - only_results_since_ < kKeepsResults ? Verdict::kRefuse : Verdict::kJoin;
}

}  // namespace accel::agent
