// How an agent makes its node match what the coordinator wants.
//
// The problem: the coordinator must start and stop generations on nodes that it reaches only by
// messages. A message may be delayed, may come from before a restart of either side, or may never
// arrive. A lost stop leaves workers on GPUs that are given to another job. A repeated start runs
// the same ranks twice.
//
// The obvious approach is commands, "start a/1", with acknowledgements and retries on both sides.
// Each side then has to remember which commands the other has seen, across restarts of both.
//
// The approach: the coordinator sends its whole desired state for this node, and the agent its
// whole observed state. Reconcile() compares the two and returns the actions that are missing.
// Losing a message costs time but never correctness, because the next one says everything again.
// Each generation goes through the states of generation_state.h once; nothing leads back.
//
// The rules of Reconcile(), in its order:
// 1. A generation that runs here and is not desired is stopped, even if the coordinator does not
//    mention it at all (docs/decisions/0004).
// 2. A desired generation that is not here is taken in, with two exceptions. It waits while an
//    earlier generation of its job is still alive here. It is stale if a newer generation of its
//    job is here.
// 3. A generation that was taken in is started. The start waits while the job's last shim
//    is leaving. It also waits while `may_start` holds it back, for example until an
//    upload has arrived.
// 4. A shim whose job has no generation, here or desired, is ended.
//
// clang-format off
//   desired           here          actions
//   ----------------  ------------  -------------------------------------------------------
//   a/1                             start a/1, with a new shim
//   a/1               a/1 RUNNING
//   a/1 stop, a/2     a/1 RUNNING   stop a/1; a/2 waits, because a/1 holds its GPUs
//   a/2               a/1 ENDED     start a/2, in the same shim
//   a/2, forget a/1   a/2 RUNNING   the result of a/1 is stored and no longer reported
//                     a/2 RUNNING   stop a/2, with the grace of its failures
//   forget a/2        a/2 ENDED     end the shim of job a
// clang-format on
//
// Two numbers protect against old messages (invariant 5). A desired state names the agent's
// incarnation, so a state that was meant for this node's previous agent is refused. Versions never
// fall within a session, so an older state that arrives late is refused too.
//
// A result is reported until the coordinator lists it under `forget`. It does so once it has
// committed the result. While the coordinator is away, results accumulate here. They are bounded
// (invariant 8): their texts are shortened (report_texts.h). A node with too many results reports
// that it takes no new work. Exit codes are never dropped.

#include "agent/core/node_state.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/core/conversion.h"
#include "agent/core/report_texts.h"

namespace accel::agent {
namespace {

// The exit codes for a start that failed because of the job, and because of the node
// (docs/decisions/0024). A shell, too, reports a command with too many arguments as 126.
constexpr int kCannotExecuteCode = 126;
constexpr int kNodeFailedCode = 1;

common::GenerationId IdOf(const v1::GenerationKey& key) {
  return {common::JobId(key.job_id()), key.generation()};
}

}  // namespace

void NodeState::SetStoreSockets(std::vector<v1::StoreSocket> sockets, std::string missing) {
  store_sockets_ = std::move(sockets);
  if (missing_sockets_ != missing) ++news_;
  missing_sockets_ = std::move(missing);
  ++revision_;
}

void NodeState::SetDesired(v1::NodeDesired desired) {
  // This is the only place where stale commands are refused (invariant 5).
  if (desired.incarnation() != identity_.incarnation() || desired.version() < applied_version_) {
    ++refused_;
    return;
  }
  applied_version_ = desired.version();
  desired_ = std::move(desired);
  has_desired_ = true;
  Refuse("");
  ForgetWhatIsCommitted();
  CountStaleStarts();
}

void NodeState::Refuse(std::string why) {
  if (refusal_ == why) return;
  refusal_ = std::move(why);
  ++revision_;
  ++news_;
}

void NodeState::SayGoodbye(Leaver leaver, const std::string& why) {
  if (leaver == Leaver::kNode) {
    identity_.set_goodbye(why);
  } else {
    identity_.set_agent_stops(why);
  }
  ++revision_;
  ++news_;
}

absl::Duration NodeState::LongestGrace(Leaver leaver) const {
  int64_t longest = 0;
  for (const v1::DesiredGeneration& wanted : desired_.generations()) {
    if (!wanted.stop()) continue;
    const LocalGeneration* local = generations_.Find(IdOf(wanted.key()));
    const bool stays = leaver == Leaver::kAgent && local != nullptr && !local->ends_with_agent;
    if (!stays) longest = std::max(longest, wanted.grace_ms());
  }
  return absl::Milliseconds(longest);
}

void NodeState::CountStaleStarts() {
  for (const v1::DesiredGeneration& each : desired_.generations()) {
    const common::GenerationId id = IdOf(each.key());
    if (each.stop() || generations_.contains(id)) continue;
    if (generations_.Newest(id.job) > id.generation) ++refused_;
  }
}

void NodeState::ForgetWhatIsCommitted() {
  for (const v1::GenerationKey& key : desired_.forget()) {
    generations_.Forget(IdOf(key));
  }
}

void NodeState::AdoptShim(const shim::ShimReport& report) {
  if (!report.shim_ended) {
    (report.shim_is_leaving ? leaving_shims_ : shims_).insert(report.job);
  }
  if (report.generation.has_value()) generations_.Adopt(*report.generation);
}

void NodeState::Apply(const shim::ShimReport& report) {
  if (report.shim_ended) {
    shims_.erase(report.job);
    leaving_shims_.erase(report.job);
  } else if (report.shim_is_leaving && shims_.erase(report.job) > 0) {
    leaving_shims_.insert(report.job);
  }
  if (report.generation.has_value()) generations_.Update(*report.generation);
}

void NodeState::StartFailed(const common::GenerationId& id, const absl::Status& why,
                            bool has_shim) {
  if (!has_shim) shims_.erase(id.job);
  LocalGeneration* local = generations_.Find(id);
  if (local == nullptr || local->ended()) return;
  shim::ExitFact failure;
  failure.kind = shim::ExitFact::Kind::kNotStarted;
  failure.code = absl::IsInvalidArgument(why) ? kCannotExecuteCode : kNodeFailedCode;
  failure.message = std::string(why.message());
  *local->observed.mutable_failure() = ToProto(failure);
  generations_.Step(local, v1::ObservedGeneration::ENDED);
}

std::vector<AgentAction> NodeState::Reconcile(const MayStart& may_start) {
  std::vector<AgentAction> actions;
  if (!has_desired_) return actions;
  StopUndesired(&actions);
  AdoptDesired();
  StartReady(may_start, &actions);
  EndIdleShims(&actions);
  return actions;
}

void NodeState::StopUndesired(std::vector<AgentAction>* actions) {
  std::map<common::GenerationId, const v1::DesiredGeneration*> wanted;
  for (const v1::DesiredGeneration& each : desired_.generations()) wanted[IdOf(each.key())] = &each;
  for (auto& [id, local] : generations_) {
    if (local.ended()) continue;
    const auto found = wanted.find(id);
    if (found != wanted.end() && !found->second->stop()) continue;
    // A generation that the coordinator does not list is stopped (docs/decisions/0004).
    const absl::Duration grace =
        found == wanted.end() ? local.orphan_grace : absl::Milliseconds(found->second->grace_ms());
    if (local.to_start.has_value()) {  // No shim has received the start yet.
      local.to_start.reset();
      generations_.Step(&local, v1::ObservedGeneration::ENDED);
      continue;
    }
    if (local.stop_sent.has_value() && *local.stop_sent <= grace) continue;
    local.stop_sent = grace;
    if (local.observed.state() != v1::ObservedGeneration::STOPPING) {
      generations_.Step(&local, v1::ObservedGeneration::STOPPING);
    }
    actions->push_back(StopPart{{.id = id, .grace = grace}});
  }
}

void NodeState::AdoptDesired() {
  for (const v1::DesiredGeneration& desired : desired_.generations()) {
    const common::GenerationId id = IdOf(desired.key());
    if (generations_.contains(id)) continue;
    if (desired.stop()) {
      // The start never arrived here, so no process of it exists or ever will.
      generations_.Insert(id, v1::ObservedGeneration::ENDED);
      continue;
    }
    // CountStaleStarts() has counted the stale ones.
    if (generations_.Newest(id.job) > id.generation) continue;
    if (!generations_.AnyIsAlive(id.job)) Adopt(desired);
  }
}

void NodeState::Adopt(const v1::DesiredGeneration& desired) {
  LocalGeneration* local =
      generations_.Insert(IdOf(desired.key()), v1::ObservedGeneration::STARTING);
  local->orphan_grace = absl::Milliseconds(desired.failure_grace_ms());
  local->ends_with_agent = EndsWithAgent(desired);
  if (desired.store_socket() != 0) {
    const auto socket = std::find_if(
        store_sockets_.begin(), store_sockets_.end(),
        [&](const v1::StoreSocket& each) { return each.id() == desired.store_socket(); });
    if (socket == store_sockets_.end()) {
      local->observed.set_store_socket_gone(true);
      generations_.Step(local, v1::ObservedGeneration::ENDED);
      return;
    }
    store_sockets_.erase(socket);
  }
  local->to_start = desired;
}

void NodeState::StartReady(const MayStart& may_start, std::vector<AgentAction>* actions) {
  for (auto& [id, local] : generations_) {
    if (!local.to_start.has_value() || leaving_shims_.contains(id.job)) continue;
    if (may_start && !may_start(*local.to_start)) continue;
    const bool with_shim = shims_.insert(id.job).second;
    actions->push_back(StartPart{*std::move(local.to_start), with_shim});
    local.to_start.reset();
  }
}

void NodeState::EndIdleShims(std::vector<AgentAction>* actions) {
  std::set<common::JobId> busy = jobs();
  for (const v1::DesiredGeneration& each : desired_.generations())
    busy.insert(common::JobId(each.key().job_id()));
  for (auto shim = shims_.begin(); shim != shims_.end();) {
    if (busy.contains(*shim)) {
      ++shim;
      continue;
    }
    actions->push_back(EndShim{*shim});
    leaving_shims_.insert(*shim);
    shim = shims_.erase(shim);
  }
}

v1::NodeObserved NodeState::Observed(int64_t max_bytes) const {
  v1::NodeObserved report = identity_;
  report.set_applied_version(applied_version_);
  for (const v1::StoreSocket& socket : store_sockets_) *report.add_store_sockets() = socket;
  for (const auto& [id, local] : generations_) *report.add_generations() = local.observed;
  report.set_refuses_work(WhyNoNewWork());
  auto* generations = report.mutable_generations();
  const std::vector<v1::ObservedGeneration*> oldest_first(generations->pointer_begin(),
                                                          generations->pointer_end());
  const auto excess = [&] { return static_cast<int64_t>(report.ByteSizeLong()) - max_bytes; };
  while (excess() > 0 && ShortenTexts(excess(), oldest_first)) continue;
  return report;
}

std::string NodeState::WhyNoNewWork() const {
  if (!refusal_.empty()) return refusal_;
  if (!missing_sockets_.empty()) return missing_sockets_;
  const auto [unforgotten, workers] = generations_.CountResults();
  if (unforgotten < kMaxUnforgotten && workers < kMaxUnforgottenWorkers) return "";
  return absl::StrCat("holds ", unforgotten, " results of ", workers,
                      " processes that the coordinator has not yet stored");
}

bool NodeState::MayWrite(const common::GenerationId& id) const {
  if (generations_.contains(id)) return IsAlive(id);
  return generations_.Newest(id.job) < id.generation &&
         std::any_of(desired_.generations().begin(), desired_.generations().end(),
                     [&](const auto& each) { return IdOf(each.key()) == id && !each.stop(); });
}

}  // namespace accel::agent
