#include "coordinator/core/report_effects.h"

#include <algorithm>

namespace accel::coordinator {
namespace {

// Returns true if both reports are about the same generations. The coordinator drops some from a
// report (foreign_facts.h), so reports that were equal when they arrived may differ here.
bool HaveSameParts(const v1::NodeObserved& a, const v1::NodeObserved& b) {
  return std::equal(a.generations().begin(), a.generations().end(), b.generations().begin(),
                    b.generations().end(), [](const auto& x, const auto& y) {
                      return x.generation() == y.generation() && x.job_id() == y.job_id();
                    });
}

// Returns true if the desired state of the node says something because of this report.
bool IsInDesired(const v1::NodeObserved& report) {
  return !WhyLeaves(report).empty() ||
         std::any_of(
             report.generations().begin(), report.generations().end(),
             [](const auto& part) { return part.state() == v1::ObservedGeneration::ENDED; });
}

}  // namespace

bool Repeats(const v1::NodeObserved& before, NodeReport* report) {
  v1::NodeObserved& observed = report->observed;
  if (!report->is_whole()) {
    return report->news == News::kNothing && HaveSameParts(observed, before);
  }
  // Nearly all other reports differ in this, and serializing costs more than the rest of a look.
  if (observed.applied_version() != before.applied_version()) return false;
  const uint64_t sequence = observed.sequence();
  observed.set_sequence(before.sequence());
  const bool same = observed.SerializeAsString() == before.SerializeAsString();
  observed.set_sequence(sequence);
  return same;
}

bool MayChangeOffer(const NodeEntry& node, const NodeReport& report, bool ends_silence) {
  const v1::NodeObserved& before = node.observed;
  return ends_silence || report.news > News::kVersion || !HaveSameParts(before, report.observed) ||
         std::min(before.applied_version(), report.observed.applied_version()) < node.settled_from;
}

bool MayChangeDesired(const NodeEntry& node, const NodeReport& report, absl::Time now) {
  const v1::NodeObserved& before = node.observed;
  const bool rebooted = report.is_whole() && before.boot_id() != report.observed.boot_id();
  return rebooted || IsInDesired(before) || IsInDesired(report.observed) ||
         !node.consumed_sockets.empty() || NeedsAnswer(node, now);
}

bool NeedsAnswer(const NodeEntry& node, absl::Time now) {
  return !node.jobs.empty() && node.clock.NeedsAnswer(now);
}

bool MayHaveFailedBefore(const ClusterState& state, const NodeEntry& node) {
  return std::any_of(node.jobs.begin(), node.jobs.end(), [&state](const auto& job) {
    const v1::Job& stopped = state.jobs.at(job.first).job;
    return stopped.phase() == v1::STOPPING && stopped.has_cause();
  });
}

}  // namespace accel::coordinator
