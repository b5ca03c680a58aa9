// Decides which coordinator an agent obeys. An agent belongs to one cluster. A coordinator of
// another cluster must not end its jobs (docs/decisions/0042). Such a coordinator may have been
// started by mistake, with an empty store or with that of another cluster. Pure. Not thread-safe.
#pragma once

#include <string>
#include <utility>

#include "absl/time/time.h"

namespace accel::agent {

// The jobs and results of its cluster that a node still has.
struct ClusterHoldings {
  bool processes = false;  // Generations that have not ended.
  bool results = false;    // Results that the coordinator has not yet stored.
};

class ClusterMembership {
 public:
  // How long results are kept from another coordinator, once nothing else is left. An operator has
  // this time to notice that a coordinator was started with the wrong store.
  static constexpr absl::Duration kKeepsResults = absl::Minutes(10);

  enum class Verdict {
    // The coordinator belongs to the agent's cluster, or its release sends no cluster id.
    kObey,
    // The agent may join the coordinator's cluster. Join() must be called before it obeys.
    kJoin,
    // The agent still has processes or results of another cluster. The verdict may
    // change with time.
    kRefuse,
  };

  // `cluster` is the cluster that this node's agents joined last. Empty if there is none.
  explicit ClusterMembership(std::string cluster) : cluster_(std::move(cluster)) {}

  // Judges a coordinator by the id of its cluster, which is empty if the coordinator is of an older
  // release. Must be called again if the result is kRefuse.
  Verdict Judge(const std::string& coordinator, const ClusterHoldings& holdings, absl::Time now);

  // Notes that the agent has joined a cluster. The caller must store the cluster first, because the
  // next agent would otherwise join any cluster.
  void Join(std::string cluster) { cluster_ = std::move(cluster); }

  const std::string& cluster() const { return cluster_; }

 private:
  std::string cluster_;
  // The time since which only results of the node's cluster are left, while another
  // coordinator is refused.
  absl::Time only_results_since_ = absl::InfiniteFuture();
};

}  // namespace accel::agent
