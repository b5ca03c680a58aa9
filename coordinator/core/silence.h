// Decides from when a silent node is lost to a job (invariant 4).
//
// A silent node may be dead, or cut off from the network with its processes still running. The
// coordinator cannot tell which. A job of several nodes gives the node up as soon as it counts as
// silent, because its other ranks can do nothing without it. A job of one node waits, because its
// processes may be training all the time, and a second set of them would spoil what they write
// (docs/decisions/0096). The wait ends in one of these ways:
//
// * The node reports again. The job continues, or has meanwhile ended, or ended with a reboot.
// * An operator gives the node up: `accel drain --now` while it is not connected, or a revoked
//   certificate.
// * The job's shim must have ended it by now: its node was stopping it, or the job ends with its
//   agent, which had said that it stops, or the job asked for `stop_on_disconnect_after`.
// * The job ends instead of starting again, for example by a cancel. Its rank is then not given out
//   again. A node that comes back ends the processes.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// Returns true if the job waits for the node instead of losing it when it goes away. Also true for
// a node that is not silent. The job must hold nodes, as for all functions here.
bool WaitsFor(const JobEntry& job, const NodeEntry& node);

// Returns from when the node is lost to the current generation of the job, if it sends nothing
// more. InfiniteFuture if only the node or an operator can end the wait. Never before SilentFrom().
absl::Time LostFrom(const ClusterState& state, const JobEntry& job, const NodeEntry& node);

// Returns why a node that is lost since LostFrom() is lost. It follows the words "node b was
// lost: ".
std::string WhyLost(const ClusterState& state, const JobEntry& job, const NodeEntry& node);

// Returns the sentences that say how long a job of one node waits for it, with a space before them.
std::string DescribeWait(const ClusterState& state, const JobEntry& job, const NodeEntry& node);

}  // namespace accel::coordinator
