// The ledger lists the resources that each connected node has for jobs: free GPUs, spare store
// sockets and places. Jobs of the queue are placed with it, and jobs that grow.
//
// The ledger is kept from plan to plan, because building it looks at all nodes, and most plans
// follow a change of one. Whatever writes a fact on which an offer depends touches the node here,
// in the same function (docs/decisions/0046). Update() then looks at the touched nodes, and at
// those whose time has come. tests/scenarios/check_at_rest.h compares the result with a ledger that
// has looked at every node.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/node_offer.h"

namespace accel::coordinator {

struct ClusterState;

// The offers of all nodes that take work. Not thread-safe.
class Ledger {
 public:
  // Sorts offers by NodeObserved.placement_order, then by the node's name, then by its id.
  struct InOrder {
    bool operator()(const NodeOffer* a, const NodeOffer* b) const;
  };
  // Sorts offers by their ranks per CPU, then in order.
  struct ByLoad {
    bool operator()(const NodeOffer* a, const NodeOffer* b) const;
  };

  // Makes a ledger that has looked at no node yet.
  Ledger() = default;
  // Offers point into the ledger, so it has no copies.
  Ledger(Ledger&&) = default;
  Ledger& operator=(Ledger&&) = default;

  // Notes that the offer of a node, or of any node, may have changed.
  void Touch(const common::NodeId& node);
  void TouchAll();

  // Looks at the nodes that were touched, and at those whose time has come. Leaves out nodes that
  // are not connected or refuse work. Returns true if an offer or a refusal has changed. `state`
  // must be the same object each time.
  bool Update(const ClusterState& state, absl::Time now);
  // Looks at the touched nodes that it does not know yet, and after TouchAll() at all nodes. The
  // planner calls this while no job waits, because a job that is submitted should not wait until
  // thousands of new nodes are looked at.
  void Prepare(const ClusterState& state, absl::Time now);
  // Returns when an offer changes without an event from outside, or an earlier time. At that time,
  // a node that is excluded may take work again, or a connected node counts as silent. InfinitePast
  // if a node was touched since the last Update().
  absl::Time changes_at() const;

  // All offers.
  const std::set<const NodeOffer*, InOrder>& offers() const { return in_order_; }
  // The offers of nodes that are not busy and have a free GPU.
  const std::set<const NodeOffer*, InOrder>& gpu_room() const { return gpu_room_; }
  // The offers of nodes that are not busy.
  const std::set<const NodeOffer*, ByLoad>& cpu_room() const { return cpu_room_; }
  // The offers of nodes that are busy.
  const std::set<const NodeOffer*, InOrder>& busy() const { return busy_; }
  // For each connected node that refuses work, a text that says why. The reason that a waiting job
  // shows contains the first of these texts.
  const std::map<common::NodeId, std::string>& refusals() const { return refusals_; }

  // Subtracts the resources that a generation with these parts takes. They must fit. The state
  // changes only after the plan, so this touches the nodes, and the next Update() looks at them.
  void Take(const Placements& placements);

  // Returns true if both ledgers have the same offers, in the same sets, and the same refusals.
  bool operator==(const Ledger& other) const;

 private:
  // What is known of a connected node.
  struct Entry {
    std::optional<NodeOffer> offer;             // nullopt if the node refuses work.
    absl::Time look_at = absl::InfinitePast();  // When the node must be looked at again.
  };
  using Entries = std::unordered_map<common::NodeId, Entry, absl::Hash<common::NodeId>>;

  // Looks at the nodes whose time has come. Touches those whose offer may have changed.
  void LookAtDue(const ClusterState& state, absl::Time now);
  // Looks at one node. Returns true if its offer or refusal has changed.
  bool Look(const ClusterState& state, const common::NodeId& id, absl::Time now);
  void LookAgainAt(absl::Time time, const common::NodeId& id, Entry* entry);
  bool SetOffer(std::optional<NodeOffer> offer, Entry* entry);
  bool SetRefusal(const common::NodeId& id, std::string why);
  void Insert(const NodeOffer& offer);
  void Erase(const NodeOffer& offer);
  void AddRoom(const NodeOffer& offer);
  void RemoveRoom(const NodeOffer& offer);
  void TakeFrom(const v1::Placement& placement, NodeOffer* offer);
  void Forget(Entries::iterator entry);

  bool all_touched_ = true;
  absl::flat_hash_set<common::NodeId> touched_;
  std::vector<common::NodeId> unknown_;  // Touched nodes that were not looked at yet.
  Entries entries_;                      // The offers do not move, because the sets point to them.
  std::set<const NodeOffer*, InOrder> in_order_;
  std::set<const NodeOffer*, InOrder> gpu_room_;
  std::set<const NodeOffer*, InOrder> busy_;
  std::set<const NodeOffer*, ByLoad> cpu_room_;
  std::map<common::NodeId, std::string> refusals_;
  std::set<std::pair<absl::Time, common::NodeId>> by_time_;  // Entry::look_at of each entry.
};

}  // namespace accel::coordinator
