#include "coordinator/core/observe.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "coordinator/core/counting.h"
#include "coordinator/core/foreign_facts.h"
#include "coordinator/core/grace.h"
#include "coordinator/core/identity.h"
#include "coordinator/core/job_state.h"
#include "coordinator/core/refused_peers.h"
#include "coordinator/core/report.h"
#include "coordinator/core/report_effects.h"
#include "coordinator/core/sort_waiting.h"

namespace accel::coordinator {
namespace {

// Refuses a report with revisions or generations that no coordinator can have asked for. A wrong
// number could take effect later. With an applied_version that is too high, a generation would
// count as forgotten or ended as soon as it is planned.
absl::Status CheckAgainst(const ClusterState& state, const v1::NodeObserved& report) {
  if (report.applied_version() > state.revision) {
    return absl::InvalidArgumentError(absl::StrCat("applied_version: ", report.applied_version(),
                                                   " was never sent; the newest desired state is ",
                                                   state.revision));
  }
  for (const v1::ObservedGeneration& part : report.generations()) {
    const JobEntry* entry = FindJob(state, common::JobId(part.job_id()));
    if (entry == nullptr) continue;
    const v1::GenerationRecord* current = CurrentGeneration(entry->job);
    const common::Generation newest = current == nullptr ? 0 : current->generation();
    if (part.generation() >= 1 && part.generation() <= newest) continue;
    return absl::InvalidArgumentError(absl::StrCat("generations: there is no generation ",
                                                   part.generation(), " of job ", part.job_id(),
                                                   "; its newest is ", newest));
  }
  return absl::OkStatus();
}

// Makes room for another node if the cluster has max_nodes. Removes the node that has been gone
// longest, among those without a stream and without jobs. Drained nodes are removed last, because
// the drain would be forgotten with the node. Among equal nodes the lowest id decides, so that
// equal events have equal results.
absl::Status MakeRoomForNode(ClusterState* state, Changes* changes) {
  if (static_cast<int>(state->nodes.size()) < state->limits.max_nodes) return absl::OkStatus();
  const auto rank = [](const auto& node) {
    const NodeEntry& entry = node.second;
    return std::make_tuple(entry.drain != v1::NOT_DRAINED, entry.last_heard, std::cref(node.first));
  };
  auto oldest = state->nodes.end();
  for (auto node = state->nodes.begin(); node != state->nodes.end(); ++node) {
    if (node->second.session != 0 || !node->second.jobs.empty()) continue;
    if (oldest == state->nodes.end() || rank(*node) < rank(*oldest)) oldest = node;
  }
  if (oldest == state->nodes.end()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the cluster already has its maximum of ", state->limits.max_nodes, " nodes"));
  }
  state->report_bytes -= oldest->second.observed_bytes;
  const auto name = state->node_names.find(oldest->second.observed.name());
  if (name != state->node_names.end() && name->second == oldest->first) {
    state->node_names.erase(name);
  }
  changes->registered.insert(oldest->first);
  state->ledger.Touch(oldest->first);
  state->nodes.erase(oldest);
  return absl::OkStatus();
}

void TakeName(const v1::NodeObserved& report, const NodeEntry& node, ClusterState* state) {
  const auto former = state->node_names.find(node.observed.name());
  if (former != state->node_names.end() && former->second.value() == report.node_id()) {
    state->node_names.erase(former);
  }
  state->node_names[report.name()] = common::NodeId(report.node_id());
}

// Refuses a report of `bytes` if there is no memory for it. `before` is the size of the report that
// it replaces. A report that is not larger than that is kept even over the bound, because refusing
// it would free no memory.
absl::Status CheckReportRoom(const ClusterState& state, int64_t before, int64_t bytes) {
  const int64_t all = state.report_bytes - before + bytes;
  if (all <= state.limits.max_report_bytes || bytes <= before) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the coordinator keeps at most ", state.limits.max_report_bytes,
                   " bytes of nodes' reports in memory, and this one has ", bytes));
}

// Replaces the node's report by a newer one. An error has no effect.
absl::Status Keep(NodeReport report, ClusterState* state, NodeEntry* node) {
  const int64_t bytes = report.is_whole() ? SpaceOf(report.observed)
                                          : node->observed_bytes - SpaceOfState(node->observed) +
                                                SpaceOfState(report.observed);
  ACCEL_RETURN_IF_ERROR(CheckReportRoom(*state, node->observed_bytes, bytes));
  state->report_bytes += bytes - node->observed_bytes;
  node->observed_bytes = bytes;
  if (report.is_whole()) {
    node->observed = std::move(report.observed);
    node->has_gpus = !node->observed.inventory().gpus().empty();
  } else {
    MoveState(&report.observed, &node->observed);
  }
  return absl::OkStatus();
}

void CountConnection(ClusterState* state, Changes* changes) {
  ++state->connected;
  if (!GrowForNodes(static_cast<size_t>(state->connected), state)) return;
  // All nodes must receive the new heartbeat.
  for (const auto& [id, node] : state->nodes) changes->nodes.insert(id);
}

// Returns the node that the report is about. The first report of a session binds the session to the
// node. A later report that contradicts the first is refused. Errors are those of Observe().
absl::StatusOr<NodeEntry*> Bind(SessionId session, const NodeReport& received, absl::Time now,
                                ClusterState* state, Changes* changes, SessionId* superseded) {
  const v1::NodeObserved& report = received.observed;
  const common::NodeId id(report.node_id());
  auto found = state->nodes.find(id);
  if (found == state->nodes.end() || found->second.session < session) {
    ACCEL_CHECK(received.is_whole(), "a stream begins with a description");
    ACCEL_RETURN_IF_ERROR(CheckIdentity(*state, report, now));
    // The report takes the place of the node's former one, so only the difference needs memory.
    const int64_t before = found == state->nodes.end() ? 0 : found->second.observed_bytes;
    ACCEL_RETURN_IF_ERROR(CheckReportRoom(*state, before, SpaceOf(report)));
  }
  if (found == state->nodes.end()) {
    ACCEL_RETURN_IF_ERROR(MakeRoomForNode(state, changes));
    found = state->nodes.emplace(id, NodeEntry{}).first;
  }
  NodeEntry& node = found->second;
  // Sessions are numbered in the order in which they are opened, so a higher number is newer.
  if (node.session > session) {
    ++state->stale.sessions;
    return absl::AlreadyExistsError(absl::StrCat("node ", report.name(), " (", id.value(),
                                                 ") is connected over a newer stream"));
  }
  if (node.session != session) {
    *superseded = node.session;
    if (node.observed.incarnation() != report.incarnation()) {
      // Desired states that are on their way name the agent before, so the new one ignores them,
      // and nothing has to be awaited. Claims on sockets remain, because agents of a node never use
      // the id of a socket twice.
      node.settled_from = 0;
    }
    TakeName(report, node, state);
    node.observed.Clear();
    state->ledger.Touch(id);
    if (node.session == 0) CountConnection(state, changes);
    node.session = session;
    node.joined = now;
    node.clock = NodeClock{};
    node.health = NodeHealth{};
  } else if (received.is_whole() && (node.observed.incarnation() != report.incarnation() ||
                                     node.observed.name() != report.name())) {
    return absl::InvalidArgumentError(absl::StrCat("the incarnation or the name of node ",
                                                   report.name(), " changed within one stream"));
  }
  return &node;
}

void CountStaleGenerations(const v1::NodeObserved& report, ClusterState* state) {
  for (const v1::ObservedGeneration& part : report.generations()) {
    // An agent lists an ended generation until it is asked to forget it.
    if (part.state() == v1::ObservedGeneration::ENDED) continue;
    const JobEntry* entry = FindJob(*state, common::JobId(part.job_id()));
    const v1::GenerationRecord* current =
        entry == nullptr ? nullptr : CurrentGeneration(entry->job);
    if (current != nullptr && part.generation() < current->generation()) {
      ++state->stale.generations;
    }
  }
}

// Notes the time at which a generation has committed another checkpoint. The first report over a
// stream has only the number of checkpoints so far, not the time of the last one.
void NoteCheckpoints(const v1::NodeObserved& report, const NodeEntry& node, absl::Time now,
                     ClusterState* state, Changes* changes) {
  for (const v1::ObservedGeneration& part : report.generations()) {
    const common::JobId id(part.job_id());
    if (part.checkpoints() <= 0 || !IsLive(*state, id, part.generation())) continue;
    JobEntry* entry = FindJob(state, id);
    if (!std::exchange(entry->reports_checkpoints, true)) changes->put.try_emplace(id);
    const v1::ObservedGeneration* before = FindObserved(node, id, part.generation());
    if (before == nullptr || before->checkpoints() >= part.checkpoints()) continue;
    entry->checkpoint_at = now;
    if (state->waiting.growable.contains(id)) state->agenda.TouchQueue();
  }
}

// Notes that a job of one node is being stopped, because it then knows when its processes have
// ended even if the node falls silent (silence.h).
void NoteStops(const v1::NodeObserved& report, ClusterState* state, Changes* changes) {
  for (const v1::ObservedGeneration& part : report.generations()) {
    const common::JobId id(part.job_id());
    if (part.state() != v1::ObservedGeneration::STOPPING) continue;
    if (!IsLive(*state, id, part.generation())) continue;
    JobEntry* entry = FindJob(state, id);
    const v1::Job& job = entry->job;
    if (job.spec().nodes() > 1 || job.phase() != v1::STOPPING) continue;
    if (job.next() != v1::TO_RESTARTING || std::exchange(entry->stop_seen, true)) continue;
    changes->put.try_emplace(id);
  }
}

// Begins the start deadlines of jobs of one node again, because they did not count while the node
// was silent.
void RestartDeadlines(const NodeEntry& node, absl::Time now, ClusterState* state,
                      Changes* changes) {
  for (const auto& [id, machine_rank] : node.jobs) {
    JobEntry& entry = state->jobs.at(id);
    const v1::JobSpec& spec = entry.job.spec();
    if (entry.job.phase() != v1::STARTING || spec.nodes() > 1) continue;
    entry.start_by = std::max(entry.start_by, now + StartDeadline(state->limits, spec));
    changes->put.try_emplace(id);
  }
}

// Notes that there is a node with a GPU. Queued jobs that do not say where they run then
// wait for GPUs.
void NoteGpus(ClusterState* state) {
  if (std::exchange(state->gpus_seen, true)) return;
  state->waiting = FindWaiting(*state);
  state->agenda.TouchQueue();
}

// Drops the claims on sockets that no generation holds and that the agent no longer lists. The
// agent has used or closed such a socket.
void SettleSockets(NodeEntry* node) {
  if (node->consumed_sockets.empty()) return;  // As on nearly all nodes.
  std::set<uint64_t> listed;
  for (const v1::StoreSocket& socket : node->observed.store_sockets()) listed.insert(socket.id());
  std::erase_if(node->consumed_sockets, [&listed](const auto& claim) {
    return !claim.second && !listed.contains(claim.first);
  });
}

}  // namespace

absl::Status Observe(SessionId session, NodeReport received, absl::Time now, ClusterState* state,
                     Changes* changes, SessionId* superseded) {
  *superseded = 0;
  v1::NodeObserved& report = received.observed;
  ACCEL_RETURN_IF_ERROR(CheckReport(received));
  ACCEL_RETURN_IF_ERROR(CheckAgainst(*state, report));
  CutTexts(&report);
  ACCEL_ASSIGN_OR_RETURN(NodeEntry * node,
                         Bind(session, received, now, state, changes, superseded));
  if (node->observed.sequence() >= report.sequence() && !node->observed.node_id().empty()) {
    ++state->stale.sessions;
    return absl::OkStatus();
  }
  CountStaleGenerations(report, state);
  state->stale.foreign += DropForeignGenerations(*state, *node, &report);
  NoteCheckpoints(report, *node, now, state, changes);
  NoteStops(report, state, changes);
  NoteRefusedPeers(report, state, changes);
  const common::NodeId id(report.node_id());
  const bool is_first = node->observed.node_id().empty();
  // Only the clock needs these times. They differ in every report, so the comparison
  // below would fail.
  node->clock.Heard(report, now);
  report.clear_made_us();
  report.clear_answered_us();
  // A report that repeats the one before leads to nothing, unless it ends a silence.
  const bool ends_silence = now >= SilentFrom(*state, *node);
  if (!ends_silence && !node->given_up && !MayHaveFailedBefore(*state, *node) &&
      Repeats(node->observed, &received)) {
    node->observed.set_sequence(report.sequence());
    node->last_heard = now;
    if (NeedsAnswer(*node, now)) changes->nodes.insert(id);
    return absl::OkStatus();
  }
  if (MayChangeOffer(*node, received, ends_silence)) state->ledger.Touch(id);
  const bool may_change_desired =
      is_first || ends_silence || MayChangeDesired(*node, received, now);
  ACCEL_RETURN_IF_ERROR(Keep(std::move(received), state, node));
  if (is_first || node->given_up) changes->registered.insert(id);
  node->given_up = false;
  node->last_heard = now;
  if (node->has_gpus) NoteGpus(state);
  SettleSockets(node);
  if (ends_silence) RestartDeadlines(*node, now, state, changes);
  CountReport(*node, now, state);
  if (may_change_desired) changes->nodes.insert(id);
  return absl::OkStatus();
}

void CloseSession(SessionId session, const common::NodeId& node, ClusterState* state) {
  const auto found = state->nodes.find(node);
  if (found == state->nodes.end() || session == 0 || found->second.session != session) return;
  NodeEntry& entry = found->second;
  entry.session = 0;
  --state->connected;
  state->ledger.Touch(node);
  // A node that has sent a goodbye is lost to jobs of several nodes once its stream is closed.
  if (!WhyLeaves(entry.observed).empty()) {
    for (const auto& [id, machine_rank] : entry.jobs) state->agenda.Touch(id);
  }
  if (!entry.jobs.empty()) return;
  // No job needs the node's generations and sockets any more. Its id, name, boot and incarnation
  // remain, because the identity of the next agent is compared with them.
  entry.observed.clear_generations();
  entry.observed.clear_store_sockets();
  // Protobuf keeps the memory of cleared elements for reuse. A copy takes only what it needs.
  v1::NodeObserved kept = entry.observed;
  entry.observed.Swap(&kept);
  const int64_t bytes = SpaceOf(entry.observed);
  state->report_bytes += bytes - entry.observed_bytes;
  entry.observed_bytes = bytes;
}

void LoseNode(const common::NodeId& node, const std::string& why, ClusterState* state,
              Changes* changes) {
  const auto found = state->nodes.find(node);
  if (found == state->nodes.end()) return;
  // The node is treated as one that has sent a goodbye: it is lost once its stream
  // is closed (docs/decisions/0043).
  found->second.observed.set_goodbye(why);
  found->second.given_up = true;
  changes->registered.insert(node);
  for (const auto& [id, machine_rank] : found->second.jobs) state->agenda.Touch(id);
  CloseSession(found->second.session, node, state);
}

}  // namespace accel::coordinator
