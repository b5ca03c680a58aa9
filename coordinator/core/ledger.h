// What each connected node has to give, during one planning pass.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "coordinator/core/cluster_state.h"

namespace accel::coordinator {

struct NodeOffer {
  common::NodeId id;
  const NodeEntry* entry = nullptr;
  std::vector<int> gpus;       // All of the node's, ascending.
  std::vector<int> free_gpus;  // Those that no generation holds, ascending.
  int generations = 0;         // That hold something here.
  int ranks = 0;               // Of them all.
  // Why the node takes nothing just now, as part of a sentence; empty: it does.
  std::string busy;
  std::set<uint64_t> taken_sockets;  // By plans of this pass.
};

class Ledger {
 public:
  // Nodes that are not connected or refuse work are not in it. The state must outlive it.
  Ledger(const ClusterState& state, absl::Time now);

  // By name, then by id.
  const std::vector<NodeOffer>& offers() const { return offers_; }
  // Connected ones that refuse work, with why: for reasons.
  const std::vector<std::string>& refusals() const { return refusals_; }

  // When a node may be offered again without an event.
  absl::Time changes_at() const { return changes_at_; }

  // A generation with these parts has been planned.
  void Take(const std::vector<v1::Placement>& placements);

 private:
  const int generations_per_node_;
  std::vector<NodeOffer> offers_;
  std::vector<std::string> refusals_;
  absl::Time changes_at_ = absl::InfiniteFuture();
};

// A spare store socket of the node that no plan has used; null: none. `peers`: ranks on other nodes
// must reach it too, so it listens on the address that the node advertises.
const v1::StoreSocket* FindSpareSocket(const NodeOffer& offer, bool peers);

}  // namespace accel::coordinator
