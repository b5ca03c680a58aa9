// The generations on this node: their states as the agent reports them, and what the agent has
// asked the shims to do with them. NodeState uses it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "absl/time/time.h"
#include "agent/core/cluster_membership.h"
#include "agent/core/generation_state.h"
#include "common/ids.h"
#include "proto/node.pb.h"
#include "shim/core/messages.h"

namespace accel::agent {

struct LocalGeneration {
  bool ended() const { return observed.state() == v1::ObservedGeneration::ENDED; }

  v1::ObservedGeneration observed;
  absl::Duration orphan_grace;
  bool ends_with_agent = false;
  // The grace of the last stop that was returned as an action.
  std::optional<absl::Duration> stop_sent;
  // Set until the start action has been returned. The start waits while the job's last shim is
  // leaving, or `may_start` of NodeState::Reconcile() returns false.
  std::optional<v1::DesiredGeneration> to_start;
};

// What leaves: the node with all its jobs, or only the agent, with the jobs that end with it.
enum class Leaver { kNode, kAgent };

// Not thread-safe.
class LocalGenerations {
 public:
  using Map = std::map<common::GenerationId, LocalGeneration>;

  // Maximum size in bytes of the texts of all generations together; see agent/core/report_texts.h.
  static constexpr int64_t kMaxTextBytes = 4 << 20;

  // Adds a generation that is not here yet. The pointer is valid until Forget().
  LocalGeneration* Insert(const common::GenerationId& id, GenerationState state);
  // Adds a generation that an earlier agent started.
  void Adopt(const shim::GenerationReport& report);
  // Takes a shim's report of a generation. Ignores a report of a generation that is not here or has
  // ended, and a report that leads to an earlier state.
  void Update(const shim::GenerationReport& report);
  void Step(LocalGeneration* local, GenerationState to);
  // Removes the generation. Has no effect if it is not here or has not ended.
  void Forget(const common::GenerationId& id);

  // Returns null if the generation is not here.
  LocalGeneration* Find(const common::GenerationId& id);
  const LocalGeneration* Find(const common::GenerationId& id) const;
  bool contains(const common::GenerationId& id) const { return generations_.contains(id); }
  // Returns true if the generation is here and has not ended.
  bool IsAlive(const common::GenerationId& id) const;
  // Returns true if any generation of the job is here and has not ended.
  bool AnyIsAlive(const common::JobId& job) const;
  // Returns the job's newest generation here, or nullopt if it has none.
  std::optional<common::Generation> Newest(const common::JobId& job) const;
  // Returns the jobs that have a generation here, ended ones included.
  std::set<common::JobId> jobs() const;
  ClusterHoldings Holdings() const;
  // Returns what is here of the generations that leave. One that waits for its start counts as one
  // that has processes.
  ClusterHoldings HoldingsOf(Leaver leaver) const;

  // The ended generations that are here, and their workers.
  struct Results {
    int generations = 0;
    int workers = 0;
  };
  Results CountResults() const;

  // Sorted by job id, and so by the time of submission.
  Map::iterator begin() { return generations_.begin(); }
  Map::iterator end() { return generations_.end(); }
  Map::const_iterator begin() const { return generations_.begin(); }
  Map::const_iterator end() const { return generations_.end(); }

  // Increases whenever an observed generation changes. Callers that edit LocalGeneration::observed
  // call Step() afterwards.
  uint64_t revision() const { return revision_; }
  // Increases with each of these changes that must be reported at once: all but a generation that
  // starts, and one that is forgotten.
  uint64_t news() const { return news_; }
  // Increases with each of these changes that says only that a generation starts.
  uint64_t starts() const { return starts_; }

 private:
  void Count(GenerationState state);
  void BoundTexts();

  Map generations_;
  uint64_t revision_ = 0;
  uint64_t news_ = 0;
  uint64_t starts_ = 0;
};

}  // namespace accel::agent
