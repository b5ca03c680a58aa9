// Decides which coordinator an agent obeys. An agent belongs to one cluster, and what it has of
// that cluster must not be ended by a coordinator that does not know it: one that was started with
// an empty store or another cluster's (docs/decisions/0042). Pure. Not thread-safe.
#pragma once

#include <string>
#include <utility>

#include "absl/time/time.h"

namespace accel::agent {

// What a node still has of its cluster.
struct ClusterHoldings {
  bool processes = false;  // Generations that have not ended.
  bool results = false;    // Results that the coordinator has not yet stored.
};

class ClusterMembership {
 public:
  // Once only results are left, they are kept for this long. A store that was mixed up by mistake
  // is noticed by then.
  static constexpr absl::Duration kKeepsResults = absl::Minutes(10);

  enum class Verdict {
    kObey,    // The coordinator is one of the agent's cluster.
    kJoin,    // The agent is free to join the coordinator's cluster. It must call Join() first.
    kRefuse,  // The agent has something of another cluster. This may change with time.
  };

  // `cluster` is the cluster that the agent, or the one before it, joined last. May be empty.
  explicit ClusterMembership(std::string cluster) : cluster_(std::move(cluster)) {}

  // Judges a coordinator by the id of its cluster, which is empty if the coordinator is of an older
  // release. Must be called again if the result is kRefuse.
  Verdict Judge(const std::string& coordinator, const ClusterHoldings& holdings, absl::Time now);

  // Notes that the agent has joined a cluster. It must be stored first, because the next agent
  // would otherwise join any cluster.
  void Join(std::string cluster) { cluster_ = std::move(cluster); }

  const std::string& cluster() const { return cluster_; }

 private:
  std::string cluster_;
  // While another coordinator is refused: since when the node has nothing but results.
  absl::Time only_results_since_ = absl::InfiniteFuture();
};

}  // namespace accel::agent
