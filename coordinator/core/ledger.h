// The free GPUs, sockets and places of each connected node during one pass of the planner. A pass
// places several jobs, and the state changes only after it. The ledger therefore subtracts what the
// jobs that were placed earlier in the pass take. Not thread-safe.
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
  int ranks = 0;               // The number of ranks of these generations here.
  // Why the node takes no job now, as a part of a sentence. If empty, the node takes jobs.
  std::string busy;
  std::set<uint64_t> taken_sockets;  // The spare store sockets that this pass has used.
};

// The offers of all nodes that take work.
class Ledger {
 public:
  // Makes the offers of the nodes in `state`, except nodes that are not connected or refuse work.
  // `state` must outlive the ledger.
  Ledger(const ClusterState& state, absl::Time now);

  // Returns the offers, sorted by NodeObserved.placement_order, then by the node's name, then
  // by its id.
  const std::vector<NodeOffer>& offers() const { return offers_; }
  // Returns a text for each connected node that refuses work, with its reason. The reason of a
  // waiting job quotes it.
  const std::vector<std::string>& refusals() const { return refusals_; }

  // Returns when the offers change without an event from outside. At that time, a node that is
  // excluded may take work again, or a connected node counts as silent.
  absl::Time changes_at() const { return changes_at_; }

  // Subtracts the resources that a generation with these parts takes.
  void Take(const std::vector<v1::Placement>& placements);

 private:
  const ClusterState& state_;
  const int generations_per_node_;
  std::vector<NodeOffer> offers_;
  std::vector<std::string> refusals_;
  absl::Time changes_at_ = absl::InfiniteFuture();
};

// Returns a spare store socket of the node that no plan has used, or null if there is none. If
// `peers` is set, the socket listens on the address that the node advertises, because ranks on
// other nodes must reach it. Otherwise it listens on a loopback address, so that no other node
// reaches it (docs/decisions/0057).
const v1::StoreSocket* FindSpareSocket(const NodeOffer& offer, bool peers);

}  // namespace accel::coordinator
