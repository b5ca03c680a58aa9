// What an agent knows: its node, the generations on it, and what the coordinator wants. Pure:
// `now`, reports and desired states come in as values, what to do comes out as actions. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/core/generation_state.h"
#include "common/ids.h"
#include "proto/node.pb.h"
#include "shim/core/messages.h"
#include "shim/core/shim_report.h"

namespace accel::agent {

// Performed by the agent's shell, in order.
struct StartGenerationAction {
  v1::DesiredGeneration desired;
  bool with_shim = false;  // The job has no shim yet: start one first.
};
struct StopGenerationAction {
  shim::GenerationStop stop;
};
struct EndShimAction {
  common::JobId job;
};
using AgentAction = std::variant<StartGenerationAction, StopGenerationAction, EndShimAction>;

class NodeState {
 public:
  // Ended generations that the coordinator has not yet forgotten, and workers of them; at this many
  // of either the node takes no new work.
  static constexpr int kMaxUnforgotten = 256;
  static constexpr int kMaxUnforgottenWorkers = 1 << 15;

  // Of all texts of all generations together: see agent/core/report_texts.h.
  static constexpr int64_t kMostTextBytes = 4 << 20;

  // `identity` has what does not change while the agent lives: ids, name, version, inventory,
  // address.
  explicit NodeState(v1::NodeObserved identity) : identity_(std::move(identity)) {}

  // The sockets that wait to become stores.
  void SetStoreSockets(std::vector<v1::StoreSocket> sockets);

  // Takes what the coordinator wants. Refused, and counted: another incarnation's, an older version
  // than the last, and the start of an older generation than the job has here.
  void SetDesired(v1::NodeDesired desired);

  // The coordinator's versions start anew with each session.
  void NewSession() { applied_version_ = 0; }

  void Apply(const shim::ShimReport& report);

  // The shell could not perform a start: the generation has ended on this node, with this reason.
  // INVALID_ARGUMENT is the job's own doing, anything else the node's. `has_shim`: whether the job
  // has a shim all the same, which then serves the next generation or is ended as any other.
  void StartFailed(const common::GenerationId& id, const absl::Status& why, bool has_shim);

  // What must be done now for the node to become what is desired. Marks it as done: a second call
  // returns nothing.
  std::vector<AgentAction> Reconcile();

  // The whole observed state. `sequence` is the shell's. Where it would be larger than
  // `most_bytes`, its texts are shortened as far as it takes; what this object holds stays as it
  // is.
  v1::NodeObserved Observed(int64_t most_bytes) const;

  // Rises whenever Observed() would differ from before.
  uint64_t revision() const { return revision_; }

  const v1::NodeDesired& desired() const { return desired_; }
  int64_t refused() const { return refused_; }

  // Whether a generation has not ended here.
  bool IsAlive(const common::GenerationId& id) const;

  // Jobs that have a generation here, ended ones included.
  std::set<common::JobId> jobs() const;

 private:
  struct Local {
    v1::ObservedGeneration observed;
    absl::Duration orphan_grace;
    std::optional<absl::Duration> stop_sent;  // The grace of the last stop.
    // Until the shell has been asked to start it. It waits while the job's last shim is leaving.
    std::optional<v1::DesiredGeneration> to_start;
  };

  void ForgetWhatIsCommitted();
  void CountStaleStarts();
  void TakeInWhatIsDesired();
  void TakeIn(const v1::DesiredGeneration& desired);
  void StartWhatCanBeStarted(std::vector<AgentAction>* actions);
  void StopWhatIsNotDesired(std::vector<AgentAction>* actions);
  void EndIdleShims(std::vector<AgentAction>* actions);
  Local* Insert(const v1::GenerationKey& key, GenerationState state);
  void Step(Local* local, GenerationState to);
  void BoundTexts();
  std::string WhyNoNewWork() const;
  bool AnyIsAlive(const common::JobId& job) const;
  std::optional<common::Generation> Newest(const common::JobId& job) const;

  v1::NodeObserved identity_;
  v1::NodeDesired desired_;
  bool has_desired_ = false;
  std::vector<v1::StoreSocket> store_sockets_;
  std::map<common::GenerationId, Local> generations_;
  std::set<common::JobId> shims_;          // Of jobs whose shim takes starts.
  std::set<common::JobId> leaving_shims_;  // Told to end, and not yet gone.
  uint64_t applied_version_ = 0;
  uint64_t revision_ = 1;
  int64_t refused_ = 0;
};

}  // namespace accel::agent
