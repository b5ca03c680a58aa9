// Which nodes, ranks and GPUs a job gets. The rules:
//
// * Distinct nodes, in the order of their names; the position is the machine rank. Ranks are dense:
// 0, 1, 2... through
//   the machine ranks (invariant 3).
// * Unless it is a CPU job or no node has a GPU, a job runs on nodes with GPUs only, and each local
// rank has a GPU of
//   its own that belongs to no other job.
// * With different numbers of processes per node the largest part chooses first, so that a fit is
// found if there is one.
// * A world of several processes consumes a spare store socket of machine rank 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/ledger.h"

namespace accel {

struct Assignment {
  std::vector<v1::Placement> placements;
  std::string master_addr;  // Empty: a world of one process.
  int master_port = 0;
};

struct PlacementDecision {
  std::optional<Assignment> assignment;
  // Without an assignment: a sentence that says what is missing.
  std::string reason;
  // The job would fit if nothing else ran: it waits for other jobs and those after it wait too.
  // Otherwise it waits for other nodes, and nobody waits for it.
  bool fits_idle_cluster = false;
};

// The job says nothing of cpu, and the cluster has GPUs or the job names some.
bool UsesGpus(const v1::JobSpec& spec, const Ledger& ledger);

PlacementDecision Place(const v1::JobSpec& spec, const Ledger& ledger);

}  // namespace accel
