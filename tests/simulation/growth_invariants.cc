// The invariants of elastic jobs that grow: one that reports checkpoints is stopped soon after one,
// or after a long wait (docs/decisions/0045). The rest of the class is in cluster_invariants.cc.

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/simulation/broken_invariant.h"
#include "tests/simulation/cluster_invariants.h"

namespace accel::simulation {
namespace {

// Maximum time from a checkpoint until a coordinator that has stopped its job for it publishes the
// stop, apart from the time for which a checkpoint is fresh: a report that waits until its node is
// nearly lost, and a few slow commits.
constexpr absl::Duration kReportsAndPublishes = absl::Seconds(10);

}  // namespace

// Returns true if the coordinator certainly knows that the program of the job reports checkpoints.
bool ClusterInvariants::HasReportedCheckpoint(const common::GenerationId& id) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return node->link().HasToldOfCheckpoint(id, coordinator_.life());
  });
}

absl::Status ClusterInvariants::CheckGrowth(const v1::Job& job) {
  if (job.phase() != v1::STOPPING || !absl::StrContains(job.reason(), "There is room on")) {
    return absl::OkStatus();
  }
  const v1::GenerationRecord& newest = *job.generations().rbegin();
  const common::GenerationId id{common::JobId(job.job_id()), newest.generation()};
  Published& published = published_.at(id);
  if (published.grows) return absl::OkStatus();
  published.grows = true;
  const absl::Time now = clock_.Now();
  const coordinator::Limits limits = SimulatedLimits();
  const bool fresh = std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    const std::vector<absl::Time>& checkpoints = node->processes().CheckpointsOf(id);
    if (checkpoints.empty()) return false;
    // A coordinator that was away, or could not publish, knows it only since it is back.
    const absl::Time known =
        std::max({checkpoints.back(), silence_.present_since(), disk_.failed_at()});
    return now <= known + limits.fresh_checkpoint + kReportsAndPublishes;
  });
  seen_.insert(fresh ? "growth after a checkpoint" : "growth without a checkpoint");
  const absl::Time waits_until =
      published.at + limits.grow_after + limits.longest_wait_for_checkpoint;
  if (fresh || now >= waits_until || !HasReportedCheckpoint(id)) return absl::OkStatus();
  return Broken(absl::StrCat(Name(id), ", placed at ", absl::FormatTime(published.at),
                             ", is stopped to grow, and not soon after a checkpoint"));
}

}  // namespace accel::simulation
