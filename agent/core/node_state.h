// The state of an agent: its node, the generations on it, and what the coordinator wants.
// Pure: reports and desired states come in as values, and the required work is returned as
// actions. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/core/cluster_membership.h"
#include "agent/core/generation_state.h"
#include "common/ids.h"
#include "proto/node.pb.h"
#include "shim/core/messages.h"
#include "shim/core/shim_report.h"

namespace accel::agent {

// The actions that Reconcile() returns. The Agent performs them in order.
struct StartPart {
  v1::DesiredGeneration desired;
  bool with_shim = false;  // The job has no shim yet, so one must be started first.
};
struct StopPart {
  shim::StopCommand stop;
};
struct EndShim {
  common::JobId job;
};
using AgentAction = std::variant<StartPart, StopPart, EndShim>;

class NodeState {
 public:
  // Maximum number of ended generations that the coordinator has not told this node to forget, and
  // of their workers. At either limit the node takes no new work (invariant 8).
  static constexpr int kMaxUnforgotten = 256;
  static constexpr int kMaxUnforgottenWorkers = 1 << 15;

  // Maximum size of the texts of all generations together; see agent/core/report_texts.h.
  static constexpr int64_t kMaxTextBytes = 4 << 20;

  // `identity` has the fields that are constant while the agent lives: ids, name,
  // version, inventory, address.
  explicit NodeState(v1::NodeObserved identity) : identity_(std::move(identity)) {}

  // Sets the listening sockets that are free to become stores. If `missing` is not empty, it says
  // why there are too few, and the node takes no new work.
  void SetStoreSockets(std::vector<v1::StoreSocket> sockets, std::string missing = "");

  // Takes a new desired state. Refuses and counts one for another incarnation, and one with a lower
  // version than the last. Also counts each start that is older than the job's newest generation
  // here, which is never performed.
  void SetDesired(v1::NodeDesired desired);

  // Notes that a new session has begun. Nothing is done until its first desired state arrives,
  // because the coordinator may be another one. Its versions start again.
  void NewSession() {
    applied_version_ = 0;
    has_desired_ = false;
  }
  // Returns true if a desired state has been accepted in this session.
  bool has_desired() const { return has_desired_; }

  // Notes that no desired state of this session is accepted, or none yet, and why. The node takes
  // no new work, and continues what it has, until SetDesired() is called.
  void Refuse(std::string why);

  // Says in all reports from now on that the node is leaving, and why.
  void SayGoodbye(const std::string& why);
  // Returns true if the coordinator has said, in this session, that it knows of the goodbye.
  bool goodbye_taken() const { return has_desired_ && desired_.goodbye_taken(); }

  // Returns the longest grace of the generations that the coordinator asks to stop, or zero.
  absl::Duration LongestGrace() const;

  // Returns what the node has of the cluster whose coordinator it obeyed last.
  ClusterHoldings Holdings() const;

  // Takes over a shim and its generation, which an earlier agent started. Must be called before
  // anything else happens.
  void AdoptShim(const shim::ShimReport& report);

  void Apply(const shim::ShimReport& report);

  // Notes that a start could not be performed. The generation has then ended on this node for this
  // reason. INVALID_ARGUMENT is the job's own failure, and any other code is the node's
  // (docs/decisions/0024). `has_shim` tells whether the job has a shim nevertheless, which serves
  // the next generation or is ended as usual.
  void StartFailed(const common::GenerationId& id, const absl::Status& why, bool has_shim);

  // Returns true if a start may be performed now.
  using MayStart = std::function<bool(const v1::DesiredGeneration&)>;

  // Returns the actions that make the node match the desired state, and marks them as done. A
  // second call therefore returns nothing, except starts that `may_start` has held back. If it is
  // null, none is.
  std::vector<AgentAction> Reconcile(const MayStart& may_start = nullptr);

  // Returns the whole observed state, without `sequence`, which the Agent sets. If the state would
  // exceed `max_bytes`, its texts are shortened in the result only.
  v1::NodeObserved Observed(int64_t max_bytes) const;

  // Increases whenever the result of Observed() changes.
  uint64_t revision() const { return revision_; }

  const v1::NodeDesired& desired() const { return desired_; }
  int64_t refused() const { return refused_; }

  // Returns true if the generation is here and has not ended.
  bool IsAlive(const common::GenerationId& id) const;
  // Returns true if the generation is alive, or is wanted and waits for the end of an older one. It
  // may still write output.
  bool MayWrite(const common::GenerationId& id) const;

  // Returns the jobs that have a generation here, ended ones included.
  std::set<common::JobId> jobs() const;

 private:
  struct Local {
    v1::ObservedGeneration observed;
    absl::Duration orphan_grace;
    std::optional<absl::Duration> stop_sent;  // The grace of the last stop.
    // Set until the start action has been returned. The start waits while the job's
    // last shim is leaving.
    std::optional<v1::DesiredGeneration> to_start;
  };

  void ForgetWhatIsCommitted();
  void CountStaleStarts();
  void AdoptDesired();
  void Adopt(const v1::DesiredGeneration& desired);
  void StartReady(const MayStart& may_start, std::vector<AgentAction>* actions);
  void StopUndesired(std::vector<AgentAction>* actions);
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
  std::string refusal_;  // Why no desired state is accepted. Empty if one was.
  std::vector<v1::StoreSocket> store_sockets_;
  std::string missing_sockets_;  // Why there are too few of them. Empty if there are enough.
  std::map<common::GenerationId, Local> generations_;
  std::set<common::JobId> shims_;  // The jobs whose shim takes starts.
  // The jobs whose shim was asked to exit and is not gone yet.
  std::set<common::JobId> leaving_shims_;
  uint64_t applied_version_ = 0;
  uint64_t revision_ = 1;
  int64_t refused_ = 0;
};

}  // namespace accel::agent
