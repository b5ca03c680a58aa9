// Builds the state of the cluster from the rows that an earlier coordinator stored.
//
// The problem: a coordinator may be killed between any two commits, and be absent for a second or
// for a week. Meanwhile jobs run, ranks exit, and nodes are rebooted. The next coordinator must do
// what the first would have done. It must not forget a cancel, shorten a grace or run a job past
// its time limit. It must not hand out a store socket that a running job uses.
//
// The approach: everything that the planner decides by is either stored, or reported by the nodes
// again. No fact is guessed. Recover() is pure, so a test compares its result with the state that
// was stored, after every commit of every scenario (tests/scenarios/recovery_test.cc).
//
// Three things differ after a recovery, and each is harmless:
// - Reports and sessions, and the spare sockets and health that follow from them, are empty until
//   the nodes have connected again. presence.h gives the nodes time for this.
// - Revisions start above all earlier revisions, because they contain the epoch.
// - A claim on the socket of a generation whose record was dropped is gone. The claim was needed
//   only until the node had closed the socket.
//
// Deadlines are stored as times of the monotonic clock. Until the host reboots, this clock
// continues when the coordinator restarts, so a stored deadline remains valid after any absence.
// After a reboot, Recover() converts each deadline through the wall clock, because both boots share
// only that clock. If the wall clock was changed in the meantime, the converted times are wrong.
// Recover() therefore bounds a time limit and a start deadline by their full lengths, and a restart
// pause by Limits::longest_restart_pause. Times of earlier failures and starts are at most now
// (recover_times.h). Silence of nodes is not affected, because it is never stored (invariant 9).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/cluster_state.h"
#include "coordinator/core/rows.h"

namespace accel::coordinator {

// The facts that a coordinator has without its store when it starts.
struct Opening {
  absl::Time now;          // Time of the monotonic clock.
  absl::Time wall;         // The same moment of the wall clock.
  std::string boot_id;     // The kernel's boot id. If empty, the start counts as a new boot.
  std::string cluster_id;  // The id of the cluster if there are no rows yet.
  std::string owner = "";  // The name of the user who runs the coordinator. May be empty.
};

// Returns the state that the rows store, for an epoch that begins now. Without rows, returns an
// empty cluster. Jobs of earlier versions have no account (JobSpec.runs_as). They get the account
// of their owner's record, or the coordinator's own account if its user is the owner.
//
// Adds to *changes, unless it is null, what must be stored before anything is published. These are
// the facts about the cluster, and the ends of jobs that are dropped now. After a reboot they also
// include all unfinished jobs and kept ends, because the facts then name another clock. Rows with
// times of the former clock would otherwise remain.
//
// DATA_LOSS: a row cannot be read, or rows that belong together are missing. The message names the
// row or the job. FAILED_PRECONDITION: a later version of accel has written the rows.
absl::StatusOr<ClusterState> Recover(const std::vector<Row>& rows, const Limits& limits,
                                     const Opening& opening, Changes* changes = nullptr);

// Returns, for example, "3 jobs that hold nodes, 9 in the queue, 40 finished, 5 nodes".
std::string DescribeRecovery(const ClusterState& state);

}  // namespace accel::coordinator
