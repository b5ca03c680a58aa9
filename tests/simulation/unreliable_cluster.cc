#include "tests/simulation/unreliable_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/job_phase.h"
#include "common/status_macros.h"
#include "coordinator/core/job_state.h"

namespace accel::simulation {
namespace {

constexpr absl::Duration kTurn = absl::Milliseconds(50);
// Maximum time in which a node that is connected again ends generations that are no longer wanted:
// the grace of 5 s, and the pauses of its agent.
constexpr absl::Duration kEndsLeftovers = absl::Seconds(30);

absl::Status Broken(absl::string_view what) { return absl::FailedPreconditionError(what); }

std::string Name(const common::GenerationId& id) {
  return absl::StrCat("generation ", id.generation, " of job ", id.job.value());
}

}  // namespace

UnreliableNode::UnreliableNode(std::string name, int gpus, uint32_t seed, const Habits* habits,
                               coordinator::Coordinator* coordinator, common::Clock* clock)
    : name_(std::move(name)),
      gpus_(gpus),
      habits_(habits),
      coordinator_(coordinator),
      clock_(clock),
      random_(seed),
      processes_(seed, &habits->workers) {
  StartAgent();
}

void UnreliableNode::StartAgent() {
  v1::NodeObserved identity;
  identity.set_node_id(id());
  identity.set_name(name_);
  identity.set_boot_id(boot_id());
  identity.set_incarnation(absl::StrCat(name_, "-", ++incarnation_));
  identity.set_address("127.0.0.1");
  identity.set_interface("lo");
  identity.mutable_inventory()->set_cpus(8);
  for (int i = 0; i < gpus_; ++i) identity.mutable_inventory()->add_gpus()->set_index(i);
  shims_ = std::make_unique<SimulatedShims>(&processes_, clock_);
  sockets_ = std::make_unique<agent::StoreSockets>("127.0.0.1", 2);
  if (link_ != nullptr) heard_before_ = last_heard();
  link_ = std::make_unique<UnreliableLink>(random_(), &habits_->network, coordinator_, clock_);
  agent_ = std::make_unique<agent::Agent>(
      agent::Agent::Options{.identity = identity, .base_env = {}, .jobs_dir = "/nonexistent"},
      agent::Agent::Dependencies{.shims = shims_.get(),
                                 .link = link_.get(),
                                 .store_sockets = sockets_.get(),
                                 .relays = &relays_,
                                 .clock = clock_});
}

void UnreliableNode::Reboot(absl::Time until) {
  KillAgent(until);
  processes_.Reboot();
  ++boot_;
}

void UnreliableNode::KillAgent(absl::Time until) {
  if (agent_ == nullptr) return;
  starts_at_ = until;
  agent_.reset();
  shims_.reset();
  link_->Break(absl::ZeroDuration());
  processes_.AgentGone(clock_->Now());
}

void UnreliableNode::Run() {
  processes_.Run(clock_->Now());
  if (agent_ == nullptr && clock_->Now() >= starts_at_) StartAgent();
  if (agent_ == nullptr || clock_->Now() < paused_until_) return;
  link_->Run();
  // A new agent starts, as a supervisor would do.
  if (!agent_->RunOnce().ok()) KillAgent(clock_->Now());
}

UnreliableCluster::UnreliableCluster(uint32_t seed, const UnreliableNode::Habits* habits)
    : loop_({.store = &store_,
             .clock = &clock_,
             .wall_clock = [this] { return clock_.Now(); },
             .limits = {}}) {
  ACCEL_CHECK(loop_.Load().ok(), "a new memory store is readable");
  for (int i = 0; i < 3; ++i) {
    nodes_.push_back(std::make_unique<UnreliableNode>(absl::StrCat("n", i + 1), i, seed * 7 + i,
                                                      habits, &loop_, &clock_));
  }
}

void UnreliableCluster::Turn() {
  clock_.Advance(kTurn);
  const bool away = clock_.Now() < paused_until_;
  if (!away) loop_.RunOnce();
  for (const auto& node : nodes_) node->Run();
}

absl::Status UnreliableCluster::Run(absl::Duration time) {
  for (absl::Duration passed; passed < time; passed += kTurn) {
    Turn();
    ACCEL_RETURN_IF_ERROR(CheckInvariants());
  }
  return absl::OkStatus();
}

absl::Status UnreliableCluster::RunToTheEnd(absl::Duration longest) {
  for (absl::Duration passed; passed < longest; passed += absl::Seconds(1)) {
    ACCEL_RETURN_IF_ERROR(Run(absl::Seconds(1)));
    const std::map<common::JobId, v1::Job> jobs = Jobs();
    const bool over = std::all_of(jobs.begin(), jobs.end(), [](const auto& entry) {
      return common::IsFinal(entry.second.phase());
    });
    const bool empty = std::all_of(nodes_.begin(), nodes_.end(),
                                   [](const auto& node) { return node->processes().empty(); });
    if (over && empty) return absl::OkStatus();
  }
  std::vector<std::string> left;
  for (const auto& [id, job] : Jobs()) {
    if (!common::IsFinal(job.phase())) {
      left.push_back(
          absl::StrCat(id.value(), " is ", v1::JobPhase_Name(job.phase()), ": ", job.reason()));
    }
  }
  for (const auto& node : nodes_) {
    for (const auto& [job, shim] : node->processes().shims()) {
      left.push_back(absl::StrCat(node->name(), " has the shim of ", job.value()));
    }
  }
  return absl::DeadlineExceededError(absl::StrJoin(left, "; "));
}

void UnreliableCluster::Submit(v1::JobSpec spec) {
  loop_.SubmitJob(absl::StrCat("submit-", ++submits_), std::move(spec),
                  [this](absl::StatusOr<common::JobId> job) {
                    ACCEL_CHECK(job.ok(), "the schedule submits jobs that are in order");
                    jobs_.push_back(*std::move(job));
                  });
}

void UnreliableCluster::Cancel(int job, bool at_once) {
  if (job >= static_cast<int>(jobs_.size())) return;
  loop_.CancelJob(jobs_[static_cast<size_t>(job)], at_once, [](absl::Status) {});
}

std::map<common::JobId, v1::Job> UnreliableCluster::Jobs() {
  std::map<common::JobId, v1::Job> found;
  loop_.ListJobs(common::JobId(), [&found](absl::StatusOr<std::vector<coordinator::JobPtr>> jobs) {
    if (!jobs.ok()) return;
    for (const coordinator::JobPtr& job : *jobs) found.emplace(job->job_id(), *job);
  });
  loop_.RunOnce();
  return found;
}

void UnreliableCluster::NoteSilence() {
  for (const auto& node : nodes_) {
    if (clock_.Now() >= node->last_heard() + coordinator::Limits().node_timeout - kTurn) {
      given_up_[node->name()] = clock_.Now();
    }
  }
}

bool UnreliableCluster::GivenUpSince(const std::string& node, absl::Time since) {
  const auto found = given_up_.find(node);
  return found != given_up_.end() && found->second >= since &&
         clock_.Now() < found->second + kEndsLeftovers;
}

absl::Status UnreliableCluster::CheckGenerations() {
  std::map<common::JobId, std::pair<common::Generation, std::string>> living;
  for (const auto& node : nodes_) {
    for (const auto& [job, shim] : node->processes().shims()) {
      if (!shim.generation.has_value() || !shim.generation->alive()) continue;
      const common::GenerationId& id = shim.generation->id;
      if (GivenUpSince(node->name(), placed_at_[id])) continue;
      const auto [other, first] = living.try_emplace(job, id.generation, node->name());
      if (first || other->second.first == id.generation) continue;
      return Broken(absl::StrCat(Name(id), " lives on ", node->name(), " while generation ",
                                 other->second.first, " lives on ", other->second.second));
    }
  }
  for (const auto& [job, holder] : living) {
    if (ended_.contains(job)) {
      return Broken(absl::StrCat(Name({job, holder.first}), " lives on ", holder.second,
                                 " though the job is over: ", Jobs().at(job).ShortDebugString()));
    }
  }
  return absl::OkStatus();
}

absl::Status UnreliableCluster::CheckGpus() const {
  std::map<std::string, common::GenerationId> holders;
  for (const auto& node : nodes_) {
    for (const auto& [job, shim] : node->processes().shims()) {
      if (!shim.generation.has_value() || !shim.generation->alive()) continue;
      // Every rank of a part sees all GPUs of the part, so the first rank is enough.
      for (int gpu : shim.generation->workers.front().gpus) {
        const auto [other, first] =
            holders.emplace(absl::StrCat(node->name(), "/", gpu), shim.generation->id);
        if (first) continue;
        return Broken(absl::StrCat("GPU ", gpu, " of ", node->name(), " is held by ",
                                   Name(other->second), " and ", Name(shim.generation->id)));
      }
    }
  }
  return absl::OkStatus();
}

// Checks that a node counts as lost only if the coordinator received nothing from it for the whole
// timeout, or if its host was rebooted.
absl::Status UnreliableCluster::CheckLosses(const v1::Job& job) {
  for (const v1::GenerationRecord& generation : job.generations()) {
    if (generation.cause().exit().kind() != v1::ExitRecord::NODE_LOST) continue;
    const common::GenerationId id{common::JobId(job.job_id()), generation.generation()};
    for (const auto& node : nodes_) {
      if (node->name() != generation.cause().node_name()) continue;
      const absl::Time since = placed_at_[id];
      const auto silent = given_up_.find(node->name());
      if (silent != given_up_.end() && silent->second >= since) continue;
      const bool rebooted = std::any_of(
          generation.placements().begin(), generation.placements().end(),
          [&node](const v1::Placement& placement) {
            return placement.node_id() == node->id() && placement.boot_id() != node->boot_id();
          });
      if (rebooted) continue;
      return Broken(
          absl::StrCat(Name(id), " has lost node ", node->name(),
                       ", which was there all the time: ", generation.cause().exit().message()));
    }
  }
  return absl::OkStatus();
}

absl::Status UnreliableCluster::CheckEnd(const v1::Job& job) {
  const common::JobId id(job.job_id());
  const auto [first, is_new] = ended_.emplace(id, job.phase());
  if (first->second != job.phase()) {
    return Broken(absl::StrCat(id.value(), " was ", v1::JobPhase_Name(first->second), " and is ",
                               v1::JobPhase_Name(job.phase())));
  }
  if (!is_new || job.phase() != v1::SUCCEEDED) return absl::OkStatus();
  const v1::GenerationRecord& generation = *coordinator::CurrentGeneration(job);
  const common::GenerationId current{id, generation.generation()};
  for (const v1::Placement& placement : generation.placements()) {
    for (int i = 0; i < placement.processes(); ++i) {
      const int rank = placement.first_rank() + i;
      const bool ended_well = std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
        const shim::ExitFact* end = node->processes().EndOf(current, rank);
        return node->id() == placement.node_id() && end != nullptr && end->ok();
      });
      if (ended_well) continue;
      return Broken(absl::StrCat(Name(current), " has succeeded, but rank ", rank, " has not"));
    }
  }
  return absl::OkStatus();
}

absl::Status UnreliableCluster::CheckInvariants() {
  NoteSilence();
  if (clock_.Now() >= paused_until_) {
    for (const auto& [id, job] : Jobs()) {
      for (const v1::GenerationRecord& each : job.generations()) {
        placed_at_.try_emplace({id, each.generation()}, clock_.Now());
      }
      ACCEL_RETURN_IF_ERROR(CheckLosses(job));
      if (common::IsFinal(job.phase())) ACCEL_RETURN_IF_ERROR(CheckEnd(job));
    }
  }
  ACCEL_RETURN_IF_ERROR(CheckGenerations());
  return CheckGpus();
}

}  // namespace accel::simulation
