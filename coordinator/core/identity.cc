#include "coordinator/core/identity.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace accel::coordinator {
namespace {

// Returns true if the agent that sends `report` may take the id or name that `holder` has.
bool MayFollow(const ClusterState& state, const NodeEntry& holder, const v1::NodeObserved& report,
               absl::Time now) {
  if (holder.observed.incarnation() == report.incarnation()) return true;
  // The holder is known from the store alone, and may have been gone for long.
  if (!HasReported(holder)) return true;
  if (now >= SilentFrom(state, holder)) return true;
  if (holder.session != 0) return false;
  const std::string& address = holder.observed.address();
  return holder.observed.boot_id() == report.boot_id() ||
         (!address.empty() && address == report.address());
}

std::string Holder(const NodeEntry& holder, absl::Time now) {
  return absl::StrCat("the agent of node ", holder.observed.name(), " (id ",
                      holder.observed.node_id(), ", address ", holder.observed.address(), ", boot ",
                      holder.observed.boot_id(), ", incarnation ", holder.observed.incarnation(),
                      ", heard ", absl::FormatDuration(now - holder.last_heard), " ago)");
}

absl::Status CheckId(const ClusterState& state, const v1::NodeObserved& report, absl::Time now) {
  const auto holder = state.nodes.find(common::NodeId(report.node_id()));
  if (holder == state.nodes.end() || MayFollow(state, holder->second, report, now)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "node_id: ", Holder(holder->second, now),
      " has this id and is alive. If this agent's state directory is a copy of that one's, give it "
      "an empty one (--state_dir); if this agent replaces that one, stop that one"));
}

absl::Status CheckName(const ClusterState& state, const v1::NodeObserved& report, absl::Time now) {
  const auto named = state.node_names.find(report.name());
  if (named == state.node_names.end() || named->second.value() == report.node_id()) {
    return absl::OkStatus();
  }
  const auto holder = state.nodes.find(named->second);
  if (holder == state.nodes.end() || MayFollow(state, holder->second, report, now)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("name: ", Holder(holder->second, now),
                   " has this name and is alive; give this agent another one (--name)"));
}

}  // namespace

absl::Status CheckIdentity(const ClusterState& state, const v1::NodeObserved& report,
                           absl::Time now) {
  ACCEL_RETURN_IF_ERROR(CheckId(state, report, now));
  return CheckName(state, report, now);
}

}  // namespace accel::coordinator
