// Builds the state of the cluster from the rows that an earlier coordinator stored.
//
// The problem: a coordinator may be killed between any two commits, and be absent for a second or
// for a week. Meanwhile jobs run, ranks exit, nodes are rebooted. The next coordinator must do what
// the first one would have done: it must not forget a cancel, shorten a grace, run a job past its
// time limit, or hand out a store socket that a running job uses.
//
// The approach: everything that the planner decides by is either stored, or reported by the nodes
// again. Nothing is reconstructed by guessing. Recover() is pure, so a test compares its result
// with the state that was stored, after every commit of every scenario
// (tests/scenarios/recovery_test.cc).
//
// What differs after a recovery, and why that is harmless:
// - Reports, sessions and what follows from them (spare sockets, health) are empty until the nodes
//   have connected again. presence.h gives them time.
// - Revisions start above all earlier ones, because they contain the epoch.
// - A claim on the socket of a generation whose record was dropped is gone. The claim mattered only
//   until the node had closed the socket.
//
// Times. Deadlines are times of the monotonic clock. As long as the kernel is the same, that clock
// goes on across processes, so a stored deadline holds as it is, however long the coordinator was
// away. After a reboot of the coordinator's host it is translated through the wall clock, which is
// the only clock that both boots share. A wall clock that was changed meanwhile can then move a
// time limit or a restart pause, but not beyond its full length (invariant 9 is about liveness,
// which is never stored).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/rows.h"

namespace accel::coordinator {

// What a coordinator knows by itself when it starts.
struct Opening {
  absl::Time now;       // Time of the monotonic clock.
  absl::Time wall;      // The same moment of the wall clock.
  std::string boot_id;  // The kernel's boot id. May be empty, which stands for a boot of its own.
  std::string cluster_id;  // The id of the cluster if there are no rows yet.
  std::string owner = "";  // The name of the user who runs the coordinator. May be empty.
};

// Jobs that an earlier version stored have no account. They get that of their owner's record, or
// that of the coordinator's own user if it is the owner.
//
// Returns the state that the rows store, for an epoch that begins now. Without rows, this is an
// empty cluster. Adds to *changes, unless that is null, what must be stored before anything is
// published: the facts about the cluster, and after a reboot every row with times, because those
// facts then name another clock. A coordinator that dies soon after would otherwise leave times of
// two clocks. DATA_LOSS: a row cannot be read, or rows that belong together are missing; the
// message has the key. FAILED_PRECONDITION: a later version of accel has written the rows.
absl::StatusOr<ClusterState> Recover(const std::vector<Row>& rows, const Limits& limits,
                                     const Opening& opening, Changes* changes = nullptr);

// Returns, for example, "3 jobs that hold nodes, 9 in the queue, 40 finished, 5 nodes".
std::string DescribeRecovery(const ClusterState& state);

}  // namespace accel::coordinator
