// Decides which nodes, ranks and GPUs a job gets. The decision is a pure function of the job
// and the ledger.
//
// clang-format off
// The rules, in order of precedence:
//
// 1. Each machine rank gets a separate node. Ranks are dense: 0, 1, 2... through the machine
//    ranks (invariant 3).
// 2. On GPUs, each local rank has its own GPU, which belongs to no other job. CPU jobs hold nothing
//    exclusively (docs/decisions/0011).
// 3. In a world of several processes, machine rank 0 has a spare store socket, which the job uses
//    up. A node without a spare socket can have any other machine rank.
// 4. An elastic job gets as many nodes as there is room on, up to the number that it asks for.
// 5. Nodes that recently could not start this job are taken last (docs/decisions/0024).
// 6. Among the other nodes, a GPU job prefers the first in the ledger's order, so that it fills one
//    node after the other. A CPU job prefers the fewest ranks per CPU, then the first.
// 7. If the machine ranks need different numbers of processes and rule 6 leads to no fit, the
//    largest need chooses first.
// 8. Ranks move as little as possible. A node of the job's last generation keeps its machine rank,
//    if it is below the number of nodes. The other chosen nodes get the machine ranks that are
//    left, in the ledger's order (Ledger::offers()). If their GPUs and sockets do not allow it, all
//    are in the ledger's order, or in any that fits.
// clang-format on
//
// placement.cc explains the search.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/core/ledger.h"

namespace accel::coordinator {

// The place of one generation.
struct Assignment {
  Placements placements;
  std::string master_addr;  // If empty, the world has one process and no store.
  int master_port = 0;
};

struct PlacementDecision {
  // The reason why a job was not placed. The queue uses it to decide about the jobs behind it.
  enum class Wait {
    kJobs,    // The job would fit if nothing else ran. The jobs behind it wait too.
    kSocket,  // It waits for a spare socket, which a node soon opens. Jobs behind it do not wait.
    kNodes,   // It does not fit the connected nodes. The jobs behind it do not wait.
  };
  std::optional<Assignment> assignment;  // nullopt if the job is not placed.
  // The next two are set only if `assignment` is nullopt.
  Wait wait = Wait::kNodes;
  std::string reason;  // A sentence that says what is missing.
};

// Places a job. Nodes in `avoid` get a part only if the job does not fit on other nodes. `last` is
// the job's last generation, or null before its first one.
PlacementDecision Place(const v1::JobSpec& spec, v1::Devices devices,
                        const std::set<common::NodeId>& avoid, const v1::GenerationRecord* last,
                        const Ledger& ledger);

// Returns the nodes that have room now for one more machine rank of the job, in the ledger's order.
std::vector<const NodeOffer*> FindRoom(const v1::JobSpec& spec, v1::Devices devices,
                                       const Ledger& ledger);

}  // namespace accel::coordinator
