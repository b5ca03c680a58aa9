#include "agent/core/node_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/core/conversion.h"
#include "agent/core/generation_state.h"
#include "agent/logs/printable.h"

namespace accel {
namespace {

GenerationId IdOf(const v1::GenerationKey& key) { return {JobId(key.job_id()), key.generation()}; }

bool Ended(const v1::ObservedGeneration& observed) {
  return observed.state() == v1::ObservedGeneration::ENDED;
}

}  // namespace

void NodeState::SetStoreSockets(std::vector<v1::StoreSocket> sockets) {
  store_sockets_ = std::move(sockets);
  ++revision_;
}

void NodeState::SetDesired(v1::NodeDesired desired) {
  // The one place where stale commands are refused (invariant 5).
  if (desired.incarnation() != identity_.incarnation() || desired.version() < applied_version_) {
    ++refused_;
    return;
  }
  applied_version_ = desired.version();
  desired_ = std::move(desired);
  has_desired_ = true;
  ForgetWhatIsCommitted();
}

void NodeState::ForgetWhatIsCommitted() {
  for (const v1::GenerationKey& key : desired_.forget()) {
    const auto found = generations_.find(IdOf(key));
    if (found == generations_.end() || !Ended(found->second.observed)) continue;
    generations_.erase(found);
    ++revision_;
  }
}

void NodeState::Apply(const ShimReport& report) {
  if (report.shim_ended) shims_.erase(report.job);
  if (!report.generation.has_value()) return;
  const auto found = generations_.find(report.generation->id);
  if (found == generations_.end() || Ended(found->second.observed)) return;
  Local& local = found->second;
  const GenerationState to = ToProto(report.generation->state);
  if (to != local.observed.state() && !IsLegalStep(local.observed.state(), to)) return;
  ToProto(*report.generation, &local.observed);
  ++revision_;
}

void NodeState::StartFailed(const GenerationId& id, const std::string& why) {
  const auto found = generations_.find(id);
  shims_.erase(id.job);  // A start fails only where there is no shim (any more); the next one gets
                         // a new one.
  if (found == generations_.end() || Ended(found->second.observed)) return;
  v1::ExitRecord* failure = found->second.observed.mutable_failure();
  failure->set_kind(v1::ExitRecord::NOT_STARTED);
  failure->set_message(Printable(why));
  Step(&found->second, v1::ObservedGeneration::ENDED);
}

std::vector<AgentAction> NodeState::Reconcile() {
  std::vector<AgentAction> actions;
  if (!has_desired_) return actions;
  StopWhatIsNotDesired(&actions);
  StartWhatIsDesired(&actions);
  EndIdleShims(&actions);
  return actions;
}

void NodeState::StopWhatIsNotDesired(std::vector<AgentAction>* actions) {
  std::map<GenerationId, const v1::DesiredGeneration*> wanted;
  for (const v1::DesiredGeneration& each : desired_.generations()) wanted[IdOf(each.key())] = &each;
  for (auto& [id, local] : generations_) {
    if (Ended(local.observed)) continue;
    const auto found = wanted.find(id);
    if (found != wanted.end() && !found->second->stop()) continue;
    const absl::Duration grace =
        found == wanted.end() ? local.orphan_grace : absl::Milliseconds(found->second->grace_ms());
    if (local.stop_sent.has_value() && *local.stop_sent <= grace) continue;
    local.stop_sent = grace;
    if (local.observed.state() != v1::ObservedGeneration::STOPPING) {
      Step(&local, v1::ObservedGeneration::STOPPING);
    }
    actions->push_back(StopGenerationAction{{.id = id, .grace = grace}});
  }
}

void NodeState::StartWhatIsDesired(std::vector<AgentAction>* actions) {
  for (const v1::DesiredGeneration& desired : desired_.generations()) {
    const GenerationId id = IdOf(desired.key());
    if (generations_.contains(id)) continue;
    if (desired.stop()) {
      // The start never came this far: nothing of it is or will be here.
      Insert(desired.key(), v1::ObservedGeneration::ENDED);
      continue;
    }
    const std::optional<Generation> newest = Newest(id.job);
    if (newest.has_value() && *newest > id.generation) {
      ++refused_;
      continue;
    }
    if (!OlderIsAlive(id)) StartOne(desired, actions);
  }
}

void NodeState::StartOne(const v1::DesiredGeneration& desired, std::vector<AgentAction>* actions) {
  const GenerationId id = IdOf(desired.key());
  Local* local = Insert(desired.key(), v1::ObservedGeneration::STARTING);
  local->orphan_grace = absl::Milliseconds(desired.failure_grace_ms());
  if (desired.store_socket() != 0) {
    const auto socket = std::find_if(
        store_sockets_.begin(), store_sockets_.end(),
        [&](const v1::StoreSocket& each) { return each.id() == desired.store_socket(); });
    if (socket == store_sockets_.end()) {
      local->observed.set_store_socket_gone(true);
      Step(local, v1::ObservedGeneration::ENDED);
      return;
    }
    store_sockets_.erase(socket);
  }
  if (shims_.insert(id.job).second) actions->push_back(StartShimAction{id.job});
  actions->push_back(StartGenerationAction{desired});
}

void NodeState::EndIdleShims(std::vector<AgentAction>* actions) {
  std::set<JobId> busy = jobs();
  for (const v1::DesiredGeneration& each : desired_.generations())
    busy.insert(JobId(each.key().job_id()));
  for (auto shim = shims_.begin(); shim != shims_.end();) {
    if (busy.contains(*shim)) {
      ++shim;
      continue;
    }
    actions->push_back(EndShimAction{*shim});
    shim = shims_.erase(shim);
  }
}

v1::NodeObserved NodeState::Observed() const {
  v1::NodeObserved observed = identity_;
  observed.set_applied_version(applied_version_);
  for (const v1::StoreSocket& socket : store_sockets_) *observed.add_store_sockets() = socket;
  int unforgotten = 0;
  for (const auto& [id, local] : generations_) {
    *observed.add_generations() = local.observed;
    unforgotten += Ended(local.observed);
  }
  if (unforgotten >= kMaxUnforgotten) {
    observed.set_refuses_work(
        absl::StrCat("holds ", unforgotten, " results that the coordinator has not yet stored"));
  }
  return observed;
}

bool NodeState::IsAlive(const GenerationId& id) const {
  const auto found = generations_.find(id);
  return found != generations_.end() && !Ended(found->second.observed);
}

std::set<JobId> NodeState::jobs() const {
  std::set<JobId> jobs;
  for (const auto& [id, local] : generations_) jobs.insert(id.job);
  return jobs;
}

NodeState::Local* NodeState::Insert(const v1::GenerationKey& key, GenerationState state) {
  Local& local = generations_[IdOf(key)];
  local.observed.set_job_id(key.job_id());
  local.observed.set_generation(key.generation());
  local.observed.set_state(state);
  ++revision_;
  return &local;
}

void NodeState::Step(Local* local, GenerationState to) {
  local->observed.set_state(to);
  ++revision_;
}

bool NodeState::OlderIsAlive(const GenerationId& id) const {
  return std::any_of(generations_.begin(), generations_.end(), [&](const auto& entry) {
    return entry.first.job == id.job && !Ended(entry.second.observed);
  });
}

std::optional<Generation> NodeState::Newest(const JobId& job) const {
  std::optional<Generation> newest;
  for (const auto& [id, local] : generations_) {
    if (id.job == job) newest = std::max(newest.value_or(id.generation), id.generation);
  }
  return newest;
}

}  // namespace accel
