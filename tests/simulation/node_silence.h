// Which nodes a coordinator may give up, as a simulated cluster really is: which reports arrived,
// and when a coordinator ran.
#pragma once

#include <map>
#include <string>

#include "absl/time/time.h"
#include "tests/simulation/simulated_coordinator.h"
#include "tests/simulation/unreliable_node.h"

namespace accel::simulation {

// Not thread-safe.
class NodeSilence {
 public:
  // `turn` is the time between two calls of the next two functions.
  explicit NodeSilence(absl::Duration turn) : turn_(turn) {}

  // Called in each turn after the coordinator has run, before anything else arrives.
  void NoteCoordinator(const SimulatedCoordinator& coordinator, absl::Time now);
  // `moves_jobs` says that a coordinator may now take a call that moves the node's jobs.
  void NoteNode(const UnreliableNode& node, bool moves_jobs, absl::Time now);

  // Returns true if a generation that was placed on this node at `since` may count as lost.
  bool MayBeLost(const std::string& node, absl::Time since) const;

  // Returns true if such a generation may have been replaced elsewhere, and may still have
  // processes here, because the node cannot yet have been asked to end them.
  bool IsExcused(const std::string& node, absl::Time since, absl::Time now) const;

  // Returns true if the node may have said goodbye at `since` or later.
  bool MayHaveLeft(const std::string& node, absl::Time since) const;

  // Returns true if an operator may have given the node up at `since` or later, because it was not
  // connected when its jobs were moved.
  bool MayBeGivenUp(const std::string& node, absl::Time since) const;

  // Returns since when a coordinator runs without a gap.
  absl::Time present_since() const { return present_since_; }

 private:
  const absl::Duration turn_;
  bool present_ = false;
  absl::Time listened_at_ = absl::InfinitePast();
  absl::Time present_since_ = absl::InfinitePast();
  std::map<std::string, absl::Time> given_up_;  // When each node was last silent for too long.
  std::map<std::string, absl::Time> excused_until_;
  std::map<std::string, absl::Time> left_;       // When each node last shut down.
  std::map<std::string, absl::Time> abandoned_;  // When an operator may last have given it up.
};

}  // namespace accel::simulation
