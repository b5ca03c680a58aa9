// The state of an agent: its node, the generations on it, and what the coordinator wants. Pure: the
// caller passes reports and desired states, and gets the required work as actions. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/core/cluster_membership.h"
#include "agent/core/local_generations.h"
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
  // Maximum numbers of ended generations that are not yet forgotten, and of their workers. At
  // either limit the node takes no new work (invariant 8).
  static constexpr int kMaxUnforgotten = 256;
  static constexpr int kMaxUnforgottenWorkers = 1 << 15;

  // `identity` has the fields that are constant while the agent lives: ids, name,
  // version, inventory, address.
  explicit NodeState(v1::NodeObserved identity) : identity_(std::move(identity)) {}

  // Sets the spare store sockets. If `missing` is not empty, it says why there are too few of them,
  // and the node takes no new work.
  void SetStoreSockets(std::vector<v1::StoreSocket> sockets, std::string missing = "");

  // Accepts a new desired state. Refuses one that is for another incarnation, or that has a lower
  // version than the last. Counts each refused state. Also counts each start of a generation older
  // than the job's newest one here, because such a start is never performed.
  void SetDesired(v1::NodeDesired desired);

  // Notes that a new session has begun. Reconcile() returns nothing until the session's first
  // desired state is accepted, because the new session may be with another coordinator. Versions
  // count per session, so the first one may have any version.
  void NewSession() {
    applied_version_ = 0;
    has_desired_ = false;
  }
  // Returns true if a desired state has been accepted in this session.
  bool has_desired() const { return has_desired_; }

  // Notes why the agent obeys no desired state at present. Generations that are running continue.
  // The node takes no new work until SetDesired() accepts a desired state; a stale one does not
  // end the refusal.
  void Refuse(std::string why);

  // Adds to all further reports that the node or its agent leaves, and why.
  void SayGoodbye(Leaver leaver, const std::string& why);
  // Returns true if the coordinator has acknowledged the goodbye in this session.
  bool goodbye_taken() const { return has_desired_ && desired_.goodbye_taken(); }

  // Returns the longest grace of the generations that leave and that the coordinator asks to stop,
  // or zero.
  absl::Duration LongestGrace(Leaver leaver) const;

  // Returns what the node still has of its cluster.
  ClusterHoldings Holdings() const { return generations_.Holdings(); }
  ClusterHoldings HoldingsOf(Leaver leaver) const { return generations_.HoldingsOf(leaver); }

  // Takes over a shim and its generation, which an earlier agent started. Must be called before
  // SetDesired() and Reconcile().
  void AdoptShim(const shim::ShimReport& report);

  void Apply(const shim::ShimReport& report);

  // Notes that a start failed. The generation then counts as ended, with `why` as its failure.
  // INVALID_ARGUMENT is the job's own failure, and any other code is the node's
  // (docs/decisions/0024). If `has_shim`, the job has a shim nevertheless, which serves the next
  // generation or is ended as usual.
  void StartFailed(const common::GenerationId& id, const absl::Status& why, bool has_shim);

  // Returns true if a start may be performed now.
  using MayStart = std::function<bool(const v1::DesiredGeneration&)>;

  // Returns the actions that make the node match the desired state, and marks them as done. A
  // second call therefore returns nothing, except starts for which `may_start` returned false
  // before. If `may_start` is null, no start is held back.
  std::vector<AgentAction> Reconcile(const MayStart& may_start = nullptr);

  // Returns the whole observed state, except `sequence` and the times, which the Agent sets. If the
  // state would exceed `max_bytes`, its texts are shortened, but only in the result.
  v1::NodeObserved Observed(int64_t max_bytes) const;

  // Increases whenever the result of Observed() changes in more than `applied_version`.
  uint64_t revision() const { return revision_ + generations_.revision(); }
  // Increases with each of these changes that must be reported at once, even if a generation starts
  // at the same time. The others are what a start brings with it: a new spare socket, and results
  // that are dropped (docs/decisions/0088).
  uint64_t news() const { return news_ + generations_.news(); }
  // Increases with each of these changes that says only that a generation starts.
  uint64_t starts() const { return generations_.starts(); }

  const v1::NodeDesired& desired() const { return desired_; }
  int64_t refused() const { return refused_; }

  // Returns true if the generation is here and has not ended.
  bool IsAlive(const common::GenerationId& id) const { return generations_.IsAlive(id); }
  // Returns true if the generation may still write output. It may if it is alive, or if it is
  // desired and waits for the end of an older generation.
  bool MayWrite(const common::GenerationId& id) const;

  // Returns the jobs that have a generation here, ended ones included.
  std::set<common::JobId> jobs() const { return generations_.jobs(); }

 private:
  void ForgetWhatIsCommitted();
  void CountStaleStarts();
  void AdoptDesired();
  void Adopt(const v1::DesiredGeneration& desired);
  void StartReady(const MayStart& may_start, std::vector<AgentAction>* actions);
  void StopUndesired(std::vector<AgentAction>* actions);
  void EndIdleShims(std::vector<AgentAction>* actions);
  std::string WhyNoNewWork() const;

  v1::NodeObserved identity_;
  v1::NodeDesired desired_;
  bool has_desired_ = false;
  // Why the agent obeys no desired state. Empty if it obeys one.
  std::string refusal_;
  std::vector<v1::StoreSocket> store_sockets_;
  // Why there are too few store sockets. Empty if there are enough.
  std::string missing_sockets_;
  LocalGenerations generations_;
  std::set<common::JobId> shims_;  // The jobs whose shim takes starts.
  // The jobs whose shim will exit and is not gone yet.
  std::set<common::JobId> leaving_shims_;
  uint64_t applied_version_ = 0;
  // Counts the changes of everything that is observed, except the generations.
  uint64_t revision_ = 1;
  uint64_t news_ = 0;
  int64_t refused_ = 0;
};

}  // namespace accel::agent
