// Which nodes, ranks and GPUs a job gets. The rules:
//
// * Distinct nodes. Ranks are dense: 0, 1, 2... through the machine ranks (invariant 3).
// * A job on GPUs takes the first nodes by name, and each local rank has a GPU of its own that
//   belongs to no other job. A job on CPUs takes the nodes with the fewest ranks per CPU, then the
//   first by name.
// * Before both: nodes that have not just failed to start this job.
// * The nodes that were chosen become machine ranks in the order of their names, where the needs of
//   the machine ranks allow it.
// * With different numbers of processes per node the largest part chooses first if nothing else
//   fits, so that a fit is found if there is one.
// * A world of several processes consumes a spare store socket of machine rank 0: a node without
//   one takes another machine rank.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/core/ledger.h"

namespace accel::coordinator {

struct Assignment {
  std::vector<v1::Placement> placements;
  std::string master_addr;  // Empty: a world of one process.
  int master_port = 0;
};

struct PlacementDecision {
  // What a job that is not placed waits for.
  enum class Wait {
    kJobs,    // It would fit if nothing else ran: those after it wait too.
    kSocket,  // A node opens another spare socket in a moment: nobody waits for it.
    kNodes,   // It does not fit these nodes: nobody waits for it.
  };
  std::optional<Assignment> assignment;
  // Without an assignment:
  Wait wait = Wait::kNodes;
  std::string reason;  // A sentence that says what is missing.
};

// `avoid`: nodes that are taken only if there is no other way.
PlacementDecision Place(const v1::JobSpec& spec, v1::Devices devices,
                        const std::set<common::NodeId>& avoid, const Ledger& ledger);

}  // namespace accel::coordinator
