// What a newer report of a node can lead to. Most reports lead to nothing, or to little, and the
// coordinator then does not look at the rest.
#pragma once

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/node_report.h"

namespace accel::coordinator {

// Returns true if the report equals the node's report before it, apart from its sequence. Most
// heartbeats do.
bool Repeats(const v1::NodeObserved& before, NodeReport* report);

// Returns true if the report can change what the node offers to jobs (node_offer.h). A newer
// applied_version alone does not, unless the coordinator waits for one.
bool MayChangeOffer(const NodeEntry& node, const NodeReport& report, bool ends_silence);

// Returns true if the report can change what the node must do (DesiredSignature()), or if the node
// needs an answer. Leaves out what follows if the report changes a job, because the step of a job
// puts all its nodes into Changes::nodes.
bool MayChangeDesired(const NodeEntry& node, const NodeReport& report, absl::Time now);

// Returns true if the desired state should be sent again although it is unchanged, because the
// node's answer tells how its clock differs (docs/decisions/0044).
bool NeedsAnswer(const NodeEntry& node, absl::Time now);

// Returns true if a job of the node is being stopped because of a failure. Each further report then
// tightens the bounds of the node's clock, and may show an earlier failure on the node.
bool MayHaveFailedBefore(const ClusterState& state, const NodeEntry& node);

}  // namespace accel::coordinator
