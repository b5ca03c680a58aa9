#include "coordinator/core/growth.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/core/devices.h"
#include "coordinator/core/failure_history.h"
#include "coordinator/core/grace.h"
#include "coordinator/core/job_spec.h"
#include "coordinator/core/placement.h"

namespace accel::coordinator {
namespace {

Action StopToGrow(const ClusterState& state, const v1::Job& job, int nodes) {
  StopGeneration stop;
  stop.job = common::JobId(job.job_id());
  stop.next = v1::TO_RESTARTING;
  stop.spends = Spends::kMembership;
  stop.grace = StopGrace(state.limits, job.spec());
  stop.why =
      absl::StrCat("There is room on ", nodes, " nodes, so the job is started again on them");
  stop.reason = absl::StrCat(stop.why, ".");
  return stop;
}

// Returns when a job may be stopped to grow. `ready` is the time from which it could grow.
absl::Time GrowAt(const Limits& limits, const JobEntry& entry, absl::Time ready, absl::Time now) {
  const bool fresh = now - entry.checkpoint_at <= limits.fresh_checkpoint;
  if (!entry.reports_checkpoints || fresh) return ready;
  return ready + limits.longest_wait_for_checkpoint;
}

}  // namespace

bool MayGrow(const ClusterState& state, const JobEntry& entry, absl::Time now,
             absl::Time* wake_at) {
  const v1::JobSpec& spec = entry.job.spec();
  if (entry.job.phase() != v1::RUNNING || !IsElastic(spec)) return false;
  if (CurrentGeneration(entry.job)->placements_size() >= spec.nodes()) return false;
  // Half of the budget is left for nodes that are lost.
  const std::vector<absl::Time>& changes = entry.history.membership_changes;
  if (CountWithin(changes, state.limits.membership_window, now) <
      state.limits.max_membership_changes / 2) {
    return true;
  }
  for (const absl::Time change : changes) {
    const absl::Time counts_until = change + state.limits.membership_window;
    if (counts_until >= now) *wake_at = std::min(*wake_at, counts_until + absl::Nanoseconds(1));
  }
  return false;
}

void PlanGrowth(const ClusterState& state, const std::vector<const JobEntry*>& growable,
                const Ledger& ledger, absl::Time now, std::vector<Action>* actions,
                absl::Time* wake_at) {
  std::set<common::NodeId> promised;  // The nodes that earlier jobs of this pass get.
  for (const JobEntry* each : growable) {
    const JobEntry& entry = *each;
    const v1::GenerationRecord& generation = *CurrentGeneration(entry.job);
    std::set<common::NodeId> used = promised;
    for (const v1::Placement& part : generation.placements()) used.emplace(part.node_id());
    std::vector<common::NodeId> more;
    absl::Time ready = absl::InfiniteFuture();  // When the first new node may be used.
    for (const NodeOffer* offer : FindRoom(entry.job.spec(), DevicesOf(entry.job, state), ledger)) {
      if (used.contains(offer->id)) continue;
      const absl::Time since = std::max(entry.started, offer->entry->joined);
      ready = std::min(ready, since + state.limits.grow_after);
      if (now >= since + state.limits.grow_after) more.push_back(offer->id);
    }
    const absl::Time grow_at = GrowAt(state.limits, entry, ready, now);
    if (now < grow_at) {
      *wake_at = std::min(*wake_at, now < ready ? ready : grow_at);
      continue;
    }
    const int wanted = entry.job.spec().nodes() - generation.placements_size();
    more.resize(std::min(more.size(), static_cast<size_t>(wanted)));
    promised.insert(more.begin(), more.end());
    const int nodes = generation.placements_size() + static_cast<int>(more.size());
    actions->push_back(StopToGrow(state, entry.job, nodes));
  }
}

}  // namespace accel::coordinator
