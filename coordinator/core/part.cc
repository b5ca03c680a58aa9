#include "coordinator/core/part.h"

#include <algorithm>

#include "coordinator/core/exit_status.h"
#include "coordinator/core/job_state.h"
#include "coordinator/core/silence.h"

namespace accel::coordinator {
namespace {

Part::State FromObserved(v1::ObservedGeneration::State state) {
  switch (state) {
    case v1::ObservedGeneration::RUNNING:
      return Part::State::kRunning;
    case v1::ObservedGeneration::STOPPING:
      return Part::State::kStopping;
    case v1::ObservedGeneration::ENDED:
      return Part::State::kEnded;
    default:
      return Part::State::kStarting;
  }
}

bool EndedWell(const Part& part) {
  const auto exited = ExitedWorkers(part);
  return static_cast<int>(exited.size()) == part.placement->processes() &&
         std::all_of(exited.begin(), exited.end(),
                     [](const auto* worker) { return IsSuccess(worker->exit()); });
}

void Lose(Part* part, std::string why) {
  part->state = Part::State::kLost;
  part->loss = std::move(why);
}

// Sets the state of a part that is missing from the newest report of its node. The part remains
// kAwaited if the node has not yet acted on the desired state that starts it.
void JudgeMissing(const JobEntry& job, const NodeEntry& node, Part* part) {
  if (!HasReported(node)) return;
  // A reboot ends every process. A new agent within the same boot has adopted the shims of the
  // agent before it, and lists their generations (docs/decisions/0034).
  if (node.observed.boot_id() != part->placement->boot_id()) {
    return Lose(part, "its host was rebooted");
  }
  if (job.job.phase() == v1::RUNNING) {
    return Lose(part, "its agent no longer has the generation");
  }
  const uint64_t acted_on = node.observed.applied_version();
  if (job.job.phase() == v1::STOPPING && acted_on >= job.stop_revision) {
    part->state = Part::State::kEnded;
  } else if (job.job.phase() != v1::STOPPING && acted_on >= job.start_revision) {
    Lose(part, "its agent no longer has the generation");
  }
}

// Returns why the node leaves, if that concerns the job, or an empty string.
std::string GoodbyeTo(const JobEntry& job, const v1::NodeObserved& node) {
  if (!node.goodbye().empty()) return node.goodbye();
  return job.job.spec().on_agent_loss() == v1::END ? node.agent_stops() : "";
}

}  // namespace

Part LookAtPart(const ClusterState& state, const JobEntry& job, int machine_rank,
                const NodeEntry* node, absl::Time now) {
  const v1::GenerationRecord& generation = *CurrentGeneration(job.job);
  Part part;
  part.placement = &generation.placements(machine_rank);
  part.node = node;
  // A node that holds a job is never removed, so this is a store whose rows contradict each other.
  if (node == nullptr) {
    if (now >= SilentFrom(state)) Lose(&part, "it did not come back");
    return part;
  }
  part.observed = FindObserved(*node, common::JobId(job.job.job_id()), generation.generation());
  if (part.observed != nullptr) {
    part.state = FromObserved(part.observed->state());
    part.ended_well = EndedWell(part);
    if (part.state == Part::State::kEnded) return part;
  }
  // If the node has sent a goodbye, its part is lost. There are two exceptions
  // (docs/decisions/0043). While the agent is connected, a part that is being stopped will still be
  // reported as ended. Once the stream is closed, the only part of a job may still have processes.
  const std::string goodbye = GoodbyeTo(job, node->observed);
  const bool is_connected = node->session != 0;
  if (!goodbye.empty() &&
      (is_connected ? job.job.phase() != v1::STOPPING : !WaitsFor(job, *node))) {
    Lose(&part, goodbye);
    part.preempted = is_connected;
    return part;
  }
  if (now >= LostFrom(state, job, *node)) {
    Lose(&part, WhyLost(state, job, *node));
  } else if (now >= SilentFrom(state, *node)) {
    part.silent = true;
  } else if (part.observed == nullptr) {
    JudgeMissing(job, *node, &part);
  }
  return part;
}

std::vector<Part> LookAtParts(const ClusterState& state, const JobEntry& job, absl::Time now) {
  std::vector<Part> parts;
  const auto& placements = CurrentGeneration(job.job)->placements();
  parts.reserve(static_cast<size_t>(placements.size()));
  for (int i = 0; i < placements.size(); ++i) {
    const auto node = state.nodes.find(common::NodeId(placements[i].node_id()));
    const NodeEntry* const known = node == state.nodes.end() ? nullptr : &node->second;
    parts.push_back(LookAtPart(state, job, i, known, now));
  }
  return parts;
}

bool IsStarted(const Part& part) { return part.state == Part::State::kRunning || part.ended_well; }

bool HasProcesses(const Part& part) {
  return part.state != Part::State::kEnded && part.state != Part::State::kLost;
}

bool IsSocketGone(const Part& part) {
  return part.observed != nullptr && part.observed->store_socket_gone();
}

bool NodeCouldNotStart(const Part& part) {
  if (part.observed == nullptr) return false;
  const v1::ExitRecord& failure = part.observed->failure();
  return failure.kind() == v1::ExitRecord::NOT_STARTED && failure.code() != kNotFoundExitCode &&
         failure.code() != kNotExecutableExitCode;
}

std::vector<const v1::ObservedWorker*> ExitedWorkers(const Part& part) {
  std::vector<const v1::ObservedWorker*> exited;
  if (part.observed == nullptr) return exited;
  for (const v1::ObservedWorker& worker : part.observed->workers()) {
    const int local = worker.rank() - part.placement->first_rank();
    if (!worker.has_exit() || local < 0 || local >= part.placement->processes()) continue;
    exited.push_back(&worker);
  }
  // A node may list its ranks in any order, and a rank twice. The first one counts.
  const auto before = [](const auto* a, const auto* b) { return a->rank() < b->rank(); };
  const auto same = [](const auto* a, const auto* b) { return a->rank() == b->rank(); };
  std::stable_sort(exited.begin(), exited.end(), before);
  exited.erase(std::unique(exited.begin(), exited.end(), same), exited.end());
  return exited;
}

}  // namespace accel::coordinator
