// The free GPUs, sockets and places of each connected node during one pass of the planner. A pass
// places several jobs, and the ledger subtracts what the earlier ones have taken, because the state
// changes only after the pass. Not thread-safe.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

// The resources that one node has for jobs.
struct NodeOffer {
  common::NodeId id;
  const NodeEntry* entry = nullptr;
  std::vector<int> gpus;       // The indexes of all GPUs of the node, ascending.
  std::vector<int> free_gpus;  // The GPUs that no generation holds, ascending.
  int generations = 0;         // The number of generations with a part here.
  int ranks = 0;               // The number of their ranks here.
  // Why the node takes no job at present, as part of a sentence. If empty, it takes jobs.
  std::string busy;
  std::set<uint64_t> taken_sockets;  // The spare store sockets that this pass has used.
};

// The offers of all nodes that take work.
class Ledger {
 public:
  // Leaves out nodes that are not connected or refuse work. `state` must outlive the ledger.
  Ledger(const ClusterState& state, absl::Time now);

  // Sorted by NodeObserved.placement_order, then by the node's name, then by its id.
  const std::vector<NodeOffer>& offers() const { return offers_; }
  // The connected nodes that refuse work, each with its reason, to be quoted in a job's reason.
  const std::vector<std::string>& refusals() const { return refusals_; }

  // When a node that is left out may take work again, or one that is connected counts as silent,
  // without an event from outside.
  absl::Time changes_at() const { return changes_at_; }

  // Subtracts what a generation with these parts takes.
  void Take(const std::vector<v1::Placement>& placements);

 private:
  const ClusterState& state_;
  const int generations_per_node_;
  std::vector<NodeOffer> offers_;
  std::vector<std::string> refusals_;
  absl::Time changes_at_ = absl::InfiniteFuture();
};

// Returns a spare store socket of the node that no plan has used, or null if there is none. If
// `peers` is set, ranks on other nodes must reach it too, so it listens on the address that the
// node advertises. Otherwise it listens on a loopback address, so that no other node reaches it
// (docs/decisions/0057).
const v1::StoreSocket* FindSpareSocket(const NodeOffer& offer, bool peers);

}  // namespace accel::coordinator
