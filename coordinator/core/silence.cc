#include "coordinator/core/silence.h"

#include "absl/strings/str_cat.h"
#include "coordinator/core/grace.h"

namespace accel::coordinator {
namespace {

// Longer than a node needs to stop a generation after its last report, apart from
// stop_on_disconnect_after and the grace. The agent notices a dead connection within 15 s
// (agent/channel.cc), and then no longer tells its shims that there is contact. The rest is for
// clocks that differ, and for a machine on which a shim must wait for a processor.
constexpr absl::Duration kToNoticeAndEnd = absl::Seconds(30);

bool Waits(const JobEntry& entry, const NodeEntry& node) {
  const v1::Job& job = entry.job;
  if (job.spec().nodes() > 1 || node.drain == v1::MOVE_JOBS) return false;
  return job.phase() != v1::STOPPING || job.next() == v1::TO_RESTARTING;
}

absl::Duration Fence(const JobEntry& entry) {
  return absl::Milliseconds(entry.job.spec().stop_on_disconnect_after_ms());
}

}  // namespace

absl::Time LostFrom(const ClusterState& state, const JobEntry& job, const NodeEntry& node) {
  const absl::Time silent_from = SilentFrom(state, node);
  if (!Waits(job, node)) return silent_from;
  const absl::Duration fence = Fence(job);
  if (fence == absl::ZeroDuration()) return absl::InfiniteFuture();
  return silent_from + kToNoticeAndEnd + fence + FailureGrace(state.limits, job.job.spec());
}

std::string WhyLost(const ClusterState& state, const JobEntry& job, const NodeEntry& node) {
  if (job.job.spec().nodes() <= 1 && node.drain == v1::MOVE_JOBS) {
    return "it is silent, and an operator has given it up";
  }
  if (Waits(job, node)) {
    return absl::StrCat(
        "it has been silent for so long that its shim has stopped the job "
        "(stop_on_disconnect_after is ",
        absl::FormatDuration(Fence(job)), ")");
  }
  return HasReported(node)
             ? absl::StrCat("it has been silent for ", absl::FormatDuration(NodeTimeout(state)))
             : "it did not come back";
}

std::string DescribeWait(const JobEntry& job, const std::string& node_name) {
  const std::string silent = absl::StrCat(
      " Node ", node_name, " is silent. The job waits for it, because its processes may still run");
  if (Fence(job) > absl::ZeroDuration()) {
    return absl::StrCat(silent, " until they stop for lack of contact.");
  }
  return absl::StrCat(silent, ". If the node is dead, `accel drain --now ", node_name,
                      "` starts the job on another one.");
}

}  // namespace accel::coordinator
