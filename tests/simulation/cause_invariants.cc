// The invariants of the causes of failed generations: the cause is the failure that really happened
// first, as far as the coordinator can know (docs/decisions/0044). The rest of the class is in
// cluster_invariants.cc.

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tests/simulation/broken_invariant.h"
#include "tests/simulation/cluster_invariants.h"

namespace accel::simulation {
namespace {

bool IsFailureOfRank(const v1::FailureCause& cause) {
  return cause.rank() >= 0 && (cause.exit().kind() == v1::ExitRecord::EXITED ||
                               cause.exit().kind() == v1::ExitRecord::SIGNALLED);
}

// Returns true if nothing can replace the cause of this generation any more.
bool IsOver(const v1::Job& job, const v1::GenerationRecord& generation) {
  return generation.ended_unix_ms() > 0 ||
         generation.generation() < job.generations().rbegin()->generation();
}

}  // namespace

// Only a rank that really hangs is found to hang.
absl::Status ClusterInvariants::CheckHang(const v1::Job& job) const {
  const v1::FailureCause& cause = job.cause();
  if (cause.exit().kind() != v1::ExitRecord::HUNG) return absl::OkStatus();
  seen_.insert("rank that hangs");
  const common::GenerationId id{common::JobId(job.job_id()), cause.generation()};
  for (const auto& node : nodes_) {
    if (node->processes().HasHung(id, cause.rank())) return absl::OkStatus();
  }
  return Broken(absl::StrCat("rank ", cause.rank(), " of ", Name(id), " does not hang, but ",
                             cause.exit().message()));
}

absl::Status ClusterInvariants::CheckCauses(const v1::Job& job) {
  ACCEL_RETURN_IF_ERROR(CheckHang(job));
  for (const v1::GenerationRecord& generation : job.generations()) {
    const common::GenerationId id{common::JobId(job.job_id()), generation.generation()};
    Published& published = published_.at(id);
    if (published.over) continue;
    const bool is_newest = generation.generation() == job.generations().rbegin()->generation();
    const v1::FailureCause& cause = is_newest && job.has_cause() ? job.cause() : generation.cause();
    if (cause.generation() == id.generation) NoteCause(id, cause);
    if (!IsOver(job, generation)) continue;
    published.over = true;
    if (generation.has_cause() && IsFailureOfRank(generation.cause())) {
      ACCEL_RETURN_IF_ERROR(CheckCause(id));
    }
  }
  return absl::OkStatus();
}

// Notes when the rank that is the cause has failed, at the earliest, as the coordinator knows.
void ClusterInvariants::NoteCause(const common::GenerationId& id, const v1::FailureCause& cause) {
  Published& published = published_.at(id);
  if (published.blamed == cause.rank()) return;
  published.blamed = cause.rank();
  published.blamed_not_before = absl::InfinitePast();
  for (const auto& node : nodes_) {
    const auto& ends = node->processes().EndsOf(id);
    const auto end = ends.find(cause.rank());
    if (node->name() != cause.node_name() || end == ends.end()) continue;
    const ClockPrecision::Known known = node->link().precision().At(end->second.at);
    // What a later stream tells is not known here.
    if (known.stream != node->link().newest_stream()) continue;
    published.blamed_not_before = end->second.at - known.too_early;
  }
}

// Checks that no other rank has failed certainly earlier than the one that is the cause.
absl::Status ClusterInvariants::CheckCause(const common::GenerationId& id) {
  const Published& published = published_.at(id);
  if (published.blamed_not_before == absl::InfinitePast() || MayHaveLostNode(id)) {
    return absl::OkStatus();
  }
  for (const auto& node : nodes_) {
    for (const auto& [rank, end] : node->processes().EndsOf(id)) {
      if (rank == published.blamed || !end.by_itself || end.how.ok()) continue;
      const ClockPrecision::Known known = node->link().precision().At(end.at);
      if (known.stream != node->link().newest_stream()) continue;
      seen_.insert("cause among several failures");
      if (end.at + known.too_late >= published.blamed_not_before) continue;
      return Broken(absl::StrCat("rank ", published.blamed, " is the cause of the end of ",
                                 Name(id), ", but rank ", rank, " on ", node->name(), " failed at ",
                                 absl::FormatTime(end.at), ", and the coordinator ",
                                 "knows that rank ", published.blamed, " did not fail before ",
                                 absl::FormatTime(published.blamed_not_before)));
    }
  }
  return absl::OkStatus();
}

}  // namespace accel::simulation
