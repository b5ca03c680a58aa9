// The invariants of the processes that really run in a simulated cluster. The rest of the class,
// which has those of jobs and of clients, is in cluster_invariants.cc.

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/core/cluster_state.h"
#include "tests/simulation/broken_invariant.h"
#include "tests/simulation/cluster_invariants.h"

namespace accel::simulation {
namespace {

// Maximum time from the last report that the coordinator received until an agent notices that it
// does not reach the coordinator: a heartbeat, a delay, and gRPC's keepalive of 15 s.
constexpr absl::Duration kNoticesSilence = absl::Seconds(19);

// Calls fn(node, generation) for each generation that has a process. Stops at the first error.
template <typename Fn>
absl::Status ForEachLiving(const ClusterInvariants::Nodes& nodes, Fn fn) {
  for (const auto& node : nodes) {
    for (const auto& [job, shim] : node->processes().shims()) {
      if (!shim.generation.has_value() || !shim.generation->alive()) continue;
      ACCEL_RETURN_IF_ERROR(fn(*node, *shim.generation));
    }
  }
  return absl::OkStatus();
}

// Returns the shortest time between SIGTERM and SIGKILL that a stop of a generation may give.
absl::Duration ShortestGrace(const SimulatedClient& client, bool lost_node) {
  if (client.asked_at_once()) return absl::ZeroDuration();
  const v1::JobSpec& spec = client.spec();
  if (spec.failure_grace_ms() == 0 && lost_node) return absl::ZeroDuration();
  // If a rank hangs, the others may get no grace.
  if (spec.failure_grace_ms() == 0 && spec.hang_timeout_ms() > 0) return absl::ZeroDuration();
  const coordinator::Limits limits;
  const auto or_default = [](int64_t millis, absl::Duration otherwise) {
    return millis > 0 ? absl::Milliseconds(millis) : otherwise;
  };
  return std::min(or_default(spec.failure_grace_ms(), limits.failure_grace),
                  or_default(spec.stop_grace_ms(), limits.cancel_grace));
}

}  // namespace

// Invariants 4 and 7. A generation runs once on a node, because its ranks on other nodes may have
// talked to those of its first run (docs/decisions/0032).
absl::Status ClusterInvariants::CheckRanks() {
  struct Holder {
    common::Generation generation;
    std::string node;
    std::set<int> ranks;
  };
  for (const auto& node : nodes_) {
    const auto& twice = node->processes().started_twice();
    if (!twice.has_value()) continue;
    return Broken(absl::StrCat(Name(*twice), " was started a second time on ", node->name()));
  }
  std::map<common::JobId, Holder> holders;
  return ForEachLiving(nodes_, [&](const UnreliableNode& node, const SimulatedGeneration& living) {
    const auto published = published_.find(living.id);
    if (published == published_.end()) {
      return Broken(absl::StrCat(Name(living.id), " lives on ", node.name(),
                                 ", and no coordinator that lives has published it"));
    }
    if (jobs_.at(living.id.job)->submit_id().empty()) {
      return Broken(
          absl::StrCat(Name(living.id), " lives on ", node.name(), ", and its submit was refused"));
    }
    // What a job of one node leaves on a silent node is excused only once the job is over. It must
    // never run twice, not even with a fence.
    const bool may_be_left = ended_.contains(living.id.job) || !WaitsFor(node, living.id);
    if (may_be_left && silence_.IsExcused(node.name(), published->second.at, clock_.Now())) {
      return absl::OkStatus();
    }
    if (ended_.contains(living.id.job)) {
      return Broken(absl::StrCat(Name(living.id), " lives on ", node.name(),
                                 " though the job is over; it ", Describe(living.id.job)));
    }
    Holder& holder =
        holders.try_emplace(living.id.job, Holder{living.id.generation, node.name(), {}})
            .first->second;
    if (holder.generation != living.id.generation) {
      return Broken(absl::StrCat(Name(living.id), " lives on ", node.name(), " while generation ",
                                 holder.generation, " lives on ", holder.node));
    }
    for (const SimulatedWorker& worker : living.workers) {
      if (worker.exit.has_value() || holder.ranks.insert(worker.rank).second) continue;
      return Broken(absl::StrCat("rank ", worker.rank, " of ", Name(living.id), " lives on ",
                                 node.name(), " and elsewhere"));
    }
    return absl::OkStatus();
  });
}

// Invariant 4: a generation that requires contact has no process once there was none for too long,
// even on a node that cannot be reached.
absl::Status ClusterInvariants::CheckFences() const {
  return ForEachLiving(nodes_, [&](const UnreliableNode& node, const SimulatedGeneration& living) {
    const absl::Time contact = std::max(node.link().last_heard(), published_.at(living.id).at);
    const absl::Duration silent = clock_.Now() - contact;
    if (silent <= living.longest_silence + kNoticesSilence + living.orphan_grace) {
      return absl::OkStatus();
    }
    return Broken(absl::StrCat(Name(living.id), " lives on ", node.name(),
                               ", which had no contact for ", absl::FormatDuration(silent)));
  });
}

// A coordinator that does not know the jobs of a node ends none of them (docs/decisions/0042).
absl::Status ClusterInvariants::CheckStrangers() const {
  for (const auto& node : nodes_) {
    if (!node->obeyed_a_stranger()) continue;
    return Broken(
        absl::StrCat("a coordinator of another cluster has stopped processes of ", node->name()));
  }
  return absl::OkStatus();
}

absl::Status ClusterInvariants::CheckGpus() const {
  std::map<std::string, common::GenerationId> holders;
  return ForEachLiving(nodes_, [&](const UnreliableNode& node, const SimulatedGeneration& living) {
    // Every rank of a part sees all GPUs of the part, so the first rank is enough.
    for (const int gpu : living.workers.front().gpus) {
      const auto [other, first] = holders.emplace(absl::StrCat(node.name(), "/", gpu), living.id);
      if (first) continue;
      return Broken(absl::StrCat("GPU ", gpu, " of ", node.name(), " is held by ",
                                 Name(other->second), " and ", Name(living.id)));
    }
    return absl::OkStatus();
  });
}

// Checks that no two generations that ever had a process were planned with the same store socket,
// and that no two that live have stores with the same address.
absl::Status ClusterInvariants::CheckSockets() {
  std::map<std::string, common::GenerationId> holders;
  return ForEachLiving(nodes_, [&](const UnreliableNode& node, const SimulatedGeneration& living) {
    const Published& plan = published_.at(living.id);
    if (plan.socket == 0) return absl::OkStatus();
    common::GenerationId other = socket_users_.emplace(plan.socket, living.id).first->second;
    if (other == living.id && !silence_.IsExcused(node.name(), plan.at, clock_.Now())) {
      other = holders.emplace(plan.address, living.id).first->second;
    }
    if (other == living.id) return absl::OkStatus();
    return Broken(absl::StrCat(Name(living.id), " on ", node.name(), " has the store socket of ",
                               Name(other)));
  });
}

absl::Status ClusterInvariants::CheckGraces() {
  for (const auto& node : nodes_) {
    for (const SimulatedKill& kill : node->processes().TakeKills()) {
      const SimulatedClient* client = ClientOf(kill.id.job);
      if (client == nullptr) continue;
      const absl::Duration least = ShortestGrace(*client, MayHaveLostNode(kill.id));
      if (kill.grace >= least) continue;
      return Broken(absl::StrCat("rank ", kill.rank, " of ", Name(kill.id), " on ", node->name(),
                                 " was killed after ", absl::FormatDuration(kill.grace),
                                 "; its grace is at least ", absl::FormatDuration(least)));
    }
  }
  return absl::OkStatus();
}

}  // namespace accel::simulation
