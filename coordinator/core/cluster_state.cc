#include "coordinator/core/cluster_state.h"

#include <algorithm>
#include <utility>

#include "coordinator/core/job_state.h"
#include "coordinator/core/node_report.h"

namespace accel::coordinator {

absl::Duration NodeTimeout(const ClusterState& state) {
  return state.limits.node_timeout * state.thousands;
}

absl::Duration Heartbeat(const ClusterState& state) {
  return std::min(state.limits.longest_heartbeat * state.thousands, NodeTimeout(state) * 2 / 5);
}

bool GrowForNodes(size_t nodes, ClusterState* state) {
  const int thousands = static_cast<int>((nodes + 999) / 1000);
  if (thousands <= state->thousands) return false;
  state->thousands = thousands;
  TouchAll(state);
  return true;
}

void TouchAll(ClusterState* state) {
  for (const common::JobId& id : state->unfinished.ids()) state->agenda.Touch(id);
  state->agenda.TouchQueue();
  state->ledger.TouchAll();
}

void Changes::AddOlder(Changes older) {
  cluster |= older.cluster;
  for (auto& [id, change] : older.put) {
    if (erase.contains(id)) continue;
    JobChange& merged = put[id];
    merged.created |= change.created;
    merged.generations.merge(change.generations);
  }
  erase.merge(older.erase);
  ends.merge(older.ends);
  registered.merge(older.registered);
  nodes.merge(older.nodes);
  access.AddOlder(std::move(older.access));
}

JobEntry* FindJob(ClusterState* state, const common::JobId& id) {
  const auto found = state->jobs.find(id);
  return found == state->jobs.end() ? nullptr : &found->second;
}

const JobEntry* FindJob(const ClusterState& state, const common::JobId& id) {
  const auto found = state.jobs.find(id);
  return found == state.jobs.end() ? nullptr : &found->second;
}

const v1::GenerationRecord* CurrentGeneration(const v1::Job& job) {
  return job.generations().empty() ? nullptr : &*job.generations().rbegin();
}

bool IsLive(const ClusterState& state, const common::JobId& job, common::Generation generation) {
  const JobEntry* entry = FindJob(state, job);
  if (entry == nullptr || !HoldsNodes(entry->job.phase())) return false;
  return CurrentGeneration(entry->job)->generation() == generation;
}

const v1::ObservedGeneration* FindObserved(const NodeEntry& node, const common::JobId& job,
                                           common::Generation generation) {
  for (const v1::ObservedGeneration& part : node.observed.generations()) {
    if (part.generation() == generation && part.job_id() == job.value()) return &part;
  }
  return nullptr;
}

absl::Time SilentFrom(const ClusterState& state, const NodeEntry& node) {
  const absl::Time heard = node.last_heard + NodeTimeout(state);
  return node.joined >= state.present_since ? heard : std::max(heard, SilentFrom(state));
}

absl::Time SilentFrom(const ClusterState& state) {
  return state.present_since + state.limits.longest_reconnect + NodeTimeout(state);
}

bool HasReported(const NodeEntry& node) { return node.last_heard != absl::InfinitePast(); }

std::string WhyRefuses(const NodeEntry& node, absl::Time now) {
  if (const std::string& why = WhyLeaves(node.observed); !why.empty()) return why;
  if (node.drain != v1::NOT_DRAINED) return "drained by an operator";
  if (!node.observed.refuses_work().empty()) return node.observed.refuses_work();
  return IsExcluded(node.health, now) ? WhyExcluded(node.health) : "";
}

bool IsConnected(const ClusterState& state, const NodeEntry& node, absl::Time now) {
  return node.session != 0 && now < SilentFrom(state, node);
}

}  // namespace accel::coordinator
