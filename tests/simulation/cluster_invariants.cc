#include "tests/simulation/cluster_invariants.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/exit_text.h"
#include "common/job_phase.h"
#include "common/status_macros.h"
#include "coordinator/core/cluster_state.h"
#include "tests/simulation/broken_invariant.h"
#include "tests/simulation/job_invariants.h"

namespace accel::simulation {

const SimulatedClient* ClusterInvariants::ClientOf(const common::JobId& job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return nullptr;
  for (const auto& client : clients_) {
    if (client->submit_id() == found->second->submit_id()) return client.get();
  }
  return nullptr;
}

std::string ClusterInvariants::Describe(const common::JobId& job) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return "is unknown";
  return absl::StrCat("is ", v1::JobPhase_Name(found->second->phase()), ": ",
                      found->second->reason());
}

absl::Status ClusterInvariants::TakeJobs(const std::vector<coordinator::JobPtr>& jobs) {
  std::map<common::JobId, coordinator::JobPtr> now;
  std::map<std::string, std::string> submits;
  for (const coordinator::JobPtr& job : jobs) {
    const auto [other, first] = submits.emplace(job->submit_id(), job->job_id());
    // A job that was taken back has no submit id.
    if (!first && !job->submit_id().empty()) {
      return Broken(
          absl::StrCat("jobs ", other->second, " and ", job->job_id(), " are one submit"));
    }
    now.emplace(job->job_id(), job);
  }
  std::swap(jobs_, now);
  const std::map<common::JobId, coordinator::JobPtr>& before = now;
  ACCEL_RETURN_IF_ERROR(CheckNotForgotten(before));
  for (const auto& [id, job] : jobs_) {
    const auto last = before.find(id);
    if (last != before.end() && last->second == job) continue;
    if (last != before.end()) ACCEL_RETURN_IF_ERROR(CheckChange(*last->second, *job));
    for (const v1::GenerationRecord& each : job->generations()) {
      const v1::Placement& first = each.placements(0);
      published_.try_emplace(
          {id, each.generation()},
          Published{absl::FromUnixMillis(each.started_unix_ms()), first.store_socket(),
                    absl::StrCat(first.node_name(), ":", each.master_port())});
    }
    ACCEL_RETURN_IF_ERROR(CheckDrains(*job));
    ACCEL_RETURN_IF_ERROR(CheckLosses(*job));
    ACCEL_RETURN_IF_ERROR(CheckEnd(*job));
    ACCEL_RETURN_IF_ERROR(CheckCauses(*job));
    ACCEL_RETURN_IF_ERROR(CheckGrowth(*job));
    const SimulatedClient* client = ClientOf(id);
    if (client == nullptr) continue;
    ACCEL_RETURN_IF_ERROR(CheckCancelled(*job, client->cancelled_at()));
  }
  return absl::OkStatus();
}

absl::Status ClusterInvariants::Check() {
  ACCEL_RETURN_IF_ERROR(CheckRanks());
  ACCEL_RETURN_IF_ERROR(CheckFences());
  ACCEL_RETURN_IF_ERROR(CheckStrangers());
  ACCEL_RETURN_IF_ERROR(CheckGpus());
  ACCEL_RETURN_IF_ERROR(CheckSockets());
  ACCEL_RETURN_IF_ERROR(CheckGraces());
  ACCEL_RETURN_IF_ERROR(CheckTimeLimits());
  return CheckClients();
}

absl::Status ClusterInvariants::CheckTimeLimits() const {
  if (!coordinator_.runs()) return absl::OkStatus();
  const absl::Time publishes_since = std::max(silence_.present_since(), disk_.failed_at());
  for (const auto& [id, job] : jobs_) {
    ACCEL_RETURN_IF_ERROR(CheckTimeLimit(*job, publishes_since, clock_.Now()));
  }
  return absl::OkStatus();
}

// Invariant 1: nothing that was acknowledged or published is lost. The simulation has fewer jobs
// than a coordinator keeps.
absl::Status ClusterInvariants::CheckNotForgotten(
    const std::map<common::JobId, coordinator::JobPtr>& before) const {
  for (const auto& [id, job] : before) {
    if (jobs_.contains(id)) continue;
    return Broken(absl::StrCat("job ", id.value(), " was published and is no longer known"));
  }
  for (const auto& client : clients_) {
    if (!client->job().has_value()) continue;
    const auto found = jobs_.find(*client->job());
    if (found == jobs_.end()) {
      return Broken(absl::StrCat("job ", client->job()->value(),
                                 " was acknowledged, and the coordinator does not know it"));
    }
  }
  return absl::OkStatus();
}

void ClusterInvariants::NoteSilence() {
  silence_.NoteCoordinator(coordinator_, clock_.Now());
  const absl::Time now = clock_.Now();
  for (const auto& node : nodes_) {
    silence_.NoteNode(*node, drains_.MayMoveJobs(node->name(), now), now);
  }
}

absl::Status ClusterInvariants::CheckClients() const {
  for (const auto& client : clients_) {
    ACCEL_RETURN_IF_ERROR(client->found());
    if (!client->end().has_value()) continue;
    const auto end = ended_.find(*client->job());
    if (end != ended_.end() && end->second == *client->end()) continue;
    return Broken(absl::StrCat("the client of job ", client->number(), " was told ",
                               v1::JobPhase_Name(*client->end()), "; the job ",
                               Describe(*client->job())));
  }
  return absl::OkStatus();
}

// Returns true if the generation must not be replaced while it has a process on this node, however
// long the node is silent: its job is one of one node, and no operator can have given the node up
// (invariant 4).
bool ClusterInvariants::WaitsFor(const UnreliableNode& node, const common::GenerationId& id) const {
  return jobs_.at(id.job)->spec().nodes() <= 1 &&
         !silence_.MayBeGivenUp(node.name(), published_.at(id).at);
}

// A node counts as lost only if the coordinator received nothing from it for the whole timeout, or
// if its host was rebooted, or if its agent died and the job ends with its agent. A job that
// requires contact may also have lost the coordinator. A job of one node does not lose it by
// silence, but if it leaves.
bool ClusterInvariants::MayBeLost(const UnreliableNode& node, const v1::Job& job,
                                  const v1::GenerationRecord& generation) const {
  const common::GenerationId id{common::JobId(job.job_id()), generation.generation()};
  const absl::Time placed = published_.at(id).at;
  const bool waits = WaitsFor(node, id) && !silence_.MayHaveLeft(node.name(), placed);
  if (silence_.MayBeLost(node.name(), placed) && !waits) return true;
  if (job.spec().stop_on_disconnect_after_ms() > 0) return true;
  if (job.spec().on_agent_loss() == v1::END && node.agent_died_at() >= placed) return true;
  return std::any_of(generation.placements().begin(), generation.placements().end(),
                     [&node](const v1::Placement& placement) {
                       return placement.node_id() == node.id() &&
                              placement.boot_id() != node.boot_id();
                     });
}

// Returns true if a node of the generation may count as lost. The other ranks then hang in their
// collectives and get no grace, unless the job asks for one. The loss need not be the published
// cause, because an earlier failure may have replaced it.
bool ClusterInvariants::MayHaveLostNode(const common::GenerationId& id) const {
  if (published_.at(id).lost_node) return true;
  const v1::Job& job = *jobs_.at(id.job);
  for (const v1::GenerationRecord& generation : job.generations()) {
    if (generation.generation() != id.generation) continue;
    for (const v1::Placement& part : generation.placements()) {
      for (const auto& node : nodes_) {
        if (node->id() == part.node_id() && MayBeLost(*node, job, generation)) return true;
      }
    }
  }
  return false;
}

absl::Status ClusterInvariants::CheckLosses(const v1::Job& job) {
  for (const v1::GenerationRecord& generation : job.generations()) {
    if (!common::IsOfNode(generation.cause().exit())) continue;
    const common::GenerationId id{common::JobId(job.job_id()), generation.generation()};
    published_.at(id).lost_node = true;
    for (const auto& node : nodes_) {
      if (node->name() != generation.cause().node_name()) continue;
      if (MayBeLost(*node, job, generation)) continue;
      return Broken(absl::StrCat(
          Name(id), ", placed at ", absl::FormatTime(published_.at(id).at), ", has lost node ",
          node->name(), ": ", generation.cause().exit().message(), "; the coordinator received ",
          "its last report at ", absl::FormatTime(node->link().last_heard()), " and listens since ",
          absl::FormatTime(silence_.present_since())));
    }
  }
  return absl::OkStatus();
}

// A node gets no work once its drain is answered.
absl::Status ClusterInvariants::CheckDrains(const v1::Job& job) const {
  if (job.generations().empty()) return absl::OkStatus();
  const v1::GenerationRecord& newest = *job.generations().rbegin();
  for (const v1::Placement& part : newest.placements()) {
    const absl::Time drained = drains_.drained_since(part.node_name());
    if (absl::FromUnixMillis(newest.started_unix_ms()) <= drained) continue;
    return Broken(absl::StrCat("generation ", newest.generation(), " of job ", job.job_id(),
                               " was placed on ", part.node_name(), ", which is drained"));
  }
  return absl::OkStatus();
}

// Invariant 2.
absl::Status ClusterInvariants::CheckEnd(const v1::Job& job) {
  const common::JobId id(job.job_id());
  if (!common::IsFinal(job.phase()) || !ended_.emplace(id, job.phase()).second) {
    return absl::OkStatus();
  }
  return job.phase() == v1::SUCCEEDED ? CheckSuccess(job) : absl::OkStatus();
}

// Checks that each rank of the last generation has exited with 0 on its node.
absl::Status ClusterInvariants::CheckSuccess(const v1::Job& job) const {
  const v1::GenerationRecord& generation = *coordinator::CurrentGeneration(job);
  const common::GenerationId current{common::JobId(job.job_id()), generation.generation()};
  for (const v1::Placement& placement : generation.placements()) {
    for (int i = 0; i < placement.processes(); ++i) {
      const int rank = placement.first_rank() + i;
      const bool ended_well = std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
        const auto& ends = node->processes().EndsOf(current);
        const auto end = ends.find(rank);
        return node->id() == placement.node_id() && end != ends.end() && end->second.how.ok();
      });
      if (ended_well) continue;
      return Broken(absl::StrCat(Name(current), " has succeeded, but rank ", rank, " has not"));
    }
  }
  return absl::OkStatus();
}

}  // namespace accel::simulation
