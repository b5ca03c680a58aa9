#include "coordinator/core/silence.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "coordinator/core/grace.h"
#include "coordinator/core/node_report.h"

namespace accel::coordinator {
namespace {

// Longer than a node needs to stop a generation after its last report, apart from
// stop_on_disconnect_after and the grace. The agent notices a dead connection within 15 s
// (agent/channel.cc), and then no longer tells its shims that there is contact. The rest is for
// clocks that differ, and for a machine on which a shim must wait for a processor.
constexpr absl::Duration kToNoticeAndEnd = absl::Seconds(30);

// How the processes end although nobody can reach the node.
struct End {
  absl::Duration within = absl::InfiniteDuration();  // After the node counts as silent.
  std::string why;                                   // Follows "its shim has ended the job, ".
  std::string until;                                 // Follows "its processes may still run ".
};

End EndOf(const ClusterState& state, const JobEntry& entry, const NodeEntry& node) {
  const v1::JobSpec& spec = entry.job.spec();
  const absl::Duration failure_grace = FailureGrace(state.limits, spec);
  // The grace of a stop that the shim may have received. It is that of the spec or of the defaults,
  // which may have been others when the job was stopped.
  const absl::Duration stop_grace = std::max(StopGrace(state.limits, spec), entry.stop_grace);
  // A job that ends with its agent may get both graces, because the agent waits for a stop before
  // it ends.
  const absl::Duration graces = stop_grace + failure_grace;
  if (entry.stop_seen) {
    return {kToNoticeAndEnd + graces, "which was being stopped", "until their grace is over"};
  }
  if (spec.on_agent_loss() == v1::END && !WhyLeaves(node.observed).empty()) {
    return {kToNoticeAndEnd + graces, "which ends with its agent", "until their grace is over"};
  }
  const absl::Duration fence = absl::Milliseconds(spec.stop_on_disconnect_after_ms());
  if (fence == absl::ZeroDuration()) return {};
  // The fence does not shorten a stop that is under way. The stop that follows from the loss of the
  // node has not reached it.
  const absl::Duration fenced = fence + failure_grace;
  const bool stops = entry.job.phase() == v1::STOPPING &&
                     entry.job.cause().exit().kind() != v1::ExitRecord::NODE_LOST;
  return {kToNoticeAndEnd + (stops ? std::max(fenced, graces) : fenced),
          absl::StrCat("because stop_on_disconnect_after is ", absl::FormatDuration(fence)),
          "until they stop for lack of contact"};
}

// Returns the name by which an operator can drain the node. That is its id if another node has
// taken its name since.
const std::string& NameToDrain(const ClusterState& state, const NodeEntry& node) {
  const auto named = state.node_names.find(node.observed.name());
  const bool is_own =
      named != state.node_names.end() && named->second.value() == node.observed.node_id();
  return is_own ? node.observed.name() : node.observed.node_id();
}

}  // namespace

bool WaitsFor(const JobEntry& entry, const NodeEntry& node) {
  const v1::Job& job = entry.job;
  if (job.spec().nodes() > 1 || node.given_up) return false;
  return job.phase() != v1::STOPPING || job.next() == v1::TO_RESTARTING;
}

absl::Time LostFrom(const ClusterState& state, const JobEntry& job, const NodeEntry& node) {
  const absl::Time silent_from = SilentFrom(state, node);
  return WaitsFor(job, node) ? silent_from + EndOf(state, job, node).within : silent_from;
}

std::string WhyLost(const ClusterState& state, const JobEntry& job, const NodeEntry& node) {
  if (WaitsFor(job, node)) {
    return absl::StrCat("it has been silent for so long that its shim has ended the job, ",
                        EndOf(state, job, node).why);
  }
  if (job.job.spec().nodes() <= 1 && node.given_up) {
    return "it is silent, and an operator has given it up";
  }
  return HasReported(node)
             ? absl::StrCat("it has been silent for ", absl::FormatDuration(NodeTimeout(state)))
             : "it did not come back";
}

std::string DescribeWait(const ClusterState& state, const JobEntry& job, const NodeEntry& node) {
  const std::string wait =
      absl::StrCat(" Node ", node.observed.name(),
                   " is silent. The job waits for it, because its processes may still run");
  if (const End end = EndOf(state, job, node); !end.until.empty()) {
    return absl::StrCat(wait, " ", end.until, ".");
  }
  return absl::StrCat(wait, ". If the node is dead, `accel drain --now ", NameToDrain(state, node),
                      "` starts the job on another one.");
}

}  // namespace accel::coordinator
