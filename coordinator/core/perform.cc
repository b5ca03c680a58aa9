#include "coordinator/core/perform.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/check.h"
#include "common/job_phase.h"
#include "coordinator/core/counting.h"
#include "coordinator/core/failure_policy.h"
#include "coordinator/core/grace.h"
#include "coordinator/core/job_bytes.h"
#include "coordinator/core/job_state.h"
#include "coordinator/core/sort_waiting.h"

namespace accel::coordinator {
namespace {

// Carries out one action: a visitor with one function for each kind.
class Performer {
 public:
  Performer(absl::Time now, absl::Time wall, ClusterState* state, Changes* changes)
      : now_(now), wall_ms_(absl::ToUnixMillis(wall)), state_(*state), changes_(*changes) {}

  void operator()(StartGeneration& start) {
    JobEntry& entry = Entry(start.job);
    state_.agenda.TouchQueue();
    v1::Job& job = entry.job;
    const common::Generation previous =
        job.generations().empty() ? 0 : CurrentGeneration(job)->generation();
    SettleNewest(&entry, &state_);
    std::set<common::Generation>& changed = changes_.put[start.job].generations;
    while (job.generations_size() >= state_.limits.generation_records ||
           (job.generations_size() > 1 && state_.job_bytes > state_.limits.max_job_bytes)) {
      changed.insert(DropRecord(&entry, &state_));
    }
    changed.insert(previous + 1);
    v1::GenerationRecord* record = job.add_generations();
    record->set_generation(previous + 1);
    record->set_started_unix_ms(wall_ms_);
    record->set_master_addr(start.master_addr);
    record->set_master_port(start.master_port);
    record->mutable_placements()->Swap(&start.placements);
    absl::Time silent_from = absl::InfiniteFuture();
    for (int rank = 0; rank < record->placements_size(); ++rank) {
      const v1::Placement& placement = record->placements(rank);
      NodeEntry& node = state_.nodes.at(common::NodeId(placement.node_id()));
      silent_from = std::min(silent_from, SilentFrom(state_, node));
      node.jobs[start.job] = rank;
      if (placement.store_socket() != 0) node.consumed_sockets[placement.store_socket()] = true;
    }
    job.set_devices(start.devices);
    const v1::JobSpec& spec = job.spec();
    entry.start_by = now_ + StartDeadline(state_.limits, spec);
    if (entry.end_by == absl::InfiniteFuture() && spec.time_limit_ms() > 0) {
      entry.end_by = now_ + absl::Milliseconds(spec.time_limit_ms());
    }
    entry.started = now_;
    entry.start_revision = ++state_.revision;
    job.clear_cause();
    job.clear_stopping_for();
    entry.failed = {};
    entry.cancelled_since = false;
    entry.stop_seen = false;
    entry.checkpoint_at = absl::InfinitePast();
    CountNewest(&entry, &state_);
    Transition(&job, v1::STARTING, start.reason);
    TouchNodes(job);
    CountPlaced(&entry);
    WakeInTime(entry, silent_from);
  }

  void operator()(const MarkRunning& running) {
    JobEntry& entry = Entry(running.job);
    state_.agenda.TouchQueue();
    entry.start_by = absl::InfiniteFuture();
    entry.avoid.clear();
    entry.job.set_start_failures(0);
    bool moves = false;
    absl::Time silent_from = absl::InfiniteFuture();
    for (const v1::Placement& placement : CurrentGeneration(entry.job)->placements()) {
      const auto node = state_.nodes.find(common::NodeId(placement.node_id()));
      if (node == state_.nodes.end()) continue;
      silent_from = std::min(silent_from, SilentFrom(state_, node->second));
      if (IsOnTrial(node->second.health)) state_.ledger.Touch(node->first);
      node->second.health = NodeHealth{};
      moves |= node->second.drain == v1::MOVE_JOBS;
    }
    Transition(&entry.job, v1::RUNNING, running.reason);
    WakeInTime(entry, silent_from);
    // The counts remain true, because all parts have started. So a look is needed only for what was
    // less urgent than this step.
    if (!entry.counts.known() || MayStep(entry) || entry.cancel || moves) {
      state_.agenda.Touch(running.job);
    }
  }

  void operator()(const StopGeneration& stop) {
    JobEntry& entry = Changed(stop.job);
    v1::Job& job = entry.job;
    Transition(&job, v1::STOPPING, stop.reason);
    job.set_next(stop.next);
    job.set_stopping_for(stop.why);
    entry.spends = stop.spends;
    if (stop.cause.has_value()) {
      SetCause(*stop.cause, stop.failed, &entry);
    } else {
      Spend(&entry);
    }
    for (const common::NodeId& id : stop.could_not_start) {
      entry.avoid.insert(id);
      const auto node = state_.nodes.find(id);
      if (node == state_.nodes.end()) continue;
      NoteFailedStart(stop.job, stop.cause->exit().message(), now_, &node->second.health);
      state_.ledger.Touch(id);
    }
    // A cancel that arrived together with a failure remains pending. The next plan applies it to
    // the job, which is then STOPPING.
    if (stop.next == v1::TO_CANCELLED) ForgetCancel(&entry);
    entry.start_by = absl::InfiniteFuture();
    SetGrace(stop.grace, &entry);
  }

  void operator()(const ReplaceCause& replace) {
    JobEntry& entry = Changed(replace.job);
    entry.job.set_next(replace.next);
    entry.spends = replace.spends;
    SetCause(replace.cause, replace.failed, &entry);
    Reword(replace.reason, &entry.job);
    if (replace.grace < entry.stop_grace) SetGrace(replace.grace, &entry);
  }

  void operator()(const SpendBudget& spend) { Spend(&Changed(spend.job)); }

  void operator()(const ChangeStop& change) {
    JobEntry& entry = Changed(change.job);
    entry.cancelled_since = true;
    entry.job.set_next(change.next);
    Reword(change.reason, &entry.job);
    ForgetCancel(&entry);
    SetGrace(change.grace, &entry);
  }

  void operator()(const EndGeneration& end) {
    JobEntry& entry = Changed(end.job);
    v1::Job& job = entry.job;
    v1::GenerationRecord* record = Current(&job);
    record->set_ended_unix_ms(wall_ms_);
    record->set_exit_code(end.exit_code);
    if (job.has_cause()) {
      for (v1::FailureCause* cause : {job.mutable_cause(), record->mutable_cause()}) {
        if (end.later.ranks() > 0) *cause->mutable_later() = end.later;
        if (end.last_lines.empty()) continue;
        cause->mutable_last_lines()->Assign(end.last_lines.begin(), end.last_lines.end());
      }
      CountNewest(&entry, &state_);
    }
    TouchNodes(job);
    ++state_.revision;
    for (const v1::Placement& placement : record->placements()) Release(entry, placement);
    entry.not_before = now_ + end.pause;
    Transition(&job, end.to, end.reason);
    if (common::IsFinal(end.to)) Finish(end.exit_code, &entry);
  }

  void operator()(const Requeue& requeue) {
    Transition(&Changed(requeue.job).job, v1::PENDING, requeue.reason);
  }

  void operator()(const EndUnplaced& end) {
    JobEntry& entry = Changed(end.job);
    if (end.cause.has_value()) *entry.job.mutable_cause() = *end.cause;
    Transition(&entry.job, end.to, end.reason);
    Finish(end.exit_code, &entry);
  }

  void operator()(const Explain& explain) {
    JobEntry& entry = Entry(explain.job);
    Reword(explain.reason, &entry.job);
    // A new reason of a queued job leads to no further action.
    if (entry.job.phase() != v1::PENDING) state_.agenda.Touch(explain.job);
  }

  void operator()(const DropJob& drop) {
    const JobEntry& entry = Entry(drop.job);
    changes_.put.erase(drop.job);
    changes_.erase.insert(drop.job);
    changes_.ends.insert(drop.job);
    ACCEL_CHECK(state_.finished.front() == drop.job, "the oldest finished job goes first");
    state_.finished.pop_front();
    state_.job_bytes -= entry.bytes;
    state_.submits.erase(entry.job.submit_id());
    for (common::JobId& id :
         state_.ended.Add(EndOf(entry.job), now_, state_.limits.max_ended_bytes)) {
      changes_.ends.insert(std::move(id));
    }
    state_.jobs.erase(drop.job);
  }

 private:
  JobEntry& Entry(const common::JobId& id) {
    JobEntry* entry = FindJob(&state_, id);
    ACCEL_CHECK(entry != nullptr, "a plan names jobs of the state that it was made for");
    changes_.put.try_emplace(id);
    return *entry;
  }

  // Returns the job for an action that changes more than its reason. Its counts are then out of
  // date, and so may be the decisions about it and about the queue.
  JobEntry& Changed(const common::JobId& id) {
    JobEntry& entry = Entry(id);
    entry.counts.Clear();
    state_.agenda.Touch(id);
    state_.agenda.TouchQueue();
    return entry;
  }

  // Sets the time at which the job must be looked at even if nothing happens. `silent_from` is the
  // earliest at which one of its nodes would count as silent.
  void WakeInTime(const JobEntry& entry, absl::Time silent_from) {
    state_.agenda.WakeAt(common::JobId(entry.job.job_id()),
                         std::min({entry.start_by, entry.end_by, silent_from}));
  }

  // Returns the record of the newest generation for the caller to change, and marks it
  // to be stored.
  v1::GenerationRecord* Current(v1::Job* job) {
    v1::GenerationRecord* record = job->mutable_generations(job->generations_size() - 1);
    changes_.put[common::JobId(job->job_id())].generations.insert(record->generation());
    return record;
  }

  static void Reword(const std::string& reason, v1::Job* job) {
    job->set_reason(reason);
    job->set_version(job->version() + 1);
  }

  static void ForgetCancel(JobEntry* entry) {
    entry->cancel = false;
    entry->cancel_at_once = false;
  }

  void SetCause(const v1::FailureCause& cause, const TimeRange& failed, JobEntry* entry) {
    entry->failed = failed;
    v1::FailureCause& kept = *entry->job.mutable_cause();
    kept = cause;
    kept.set_failed_unix_ms(wall_ms_ - absl::ToInt64Milliseconds(now_ - failed.latest));
    *Current(&entry->job)->mutable_cause() = kept;
    CountNewest(entry, &state_);
  }

  void Spend(JobEntry* entry) {
    v1::Job& job = entry->job;
    const Spends spends = std::exchange(entry->spends, Spends::kNothing);
    if (spends == Spends::kReplan) job.set_replans(job.replans() + 1);
    if (spends == Spends::kStart) job.set_start_failures(job.start_failures() + 1);
    if (spends == Spends::kMembership) {
      job.set_membership_changes(job.membership_changes() + 1);
      NoteMembershipChange(state_.limits.membership_window, now_, &entry->history);
    }
    if (spends == Spends::kRestart) {
      job.set_failures(job.failures() + 1);
      job.set_start_failures(0);
    }
    if (!job.has_cause() || spends == Spends::kMembership) return;
    NoteFailure(FailureOf(*entry, job.cause()), absl::Milliseconds(job.spec().restart_window_ms()),
                now_, &entry->history);
    BlameNode(*entry);
  }

  Failure FailureOf(const JobEntry& entry, const v1::FailureCause& cause) const {
    Failure failure;
    failure.signature = SignatureOf(cause);
    const v1::GenerationRecord& generation = *CurrentGeneration(entry.job);
    for (const v1::Placement& placement : generation.placements()) {
      if (placement.node_name() == cause.node_name()) {
        failure.node = common::NodeId(placement.node_id());
      }
    }
    failure.has_peers = generation.placements_size() > 1;
    failure.quick = IsQuick(state_.limits, entry, entry.failed);
    return failure;
  }

  // Excludes the node on which the last failures of a job with several nodes began.
  void BlameNode(const JobEntry& entry) {
    const FailureHistory& history = entry.history;
    if (history.blamed < kMinBlamed) return;
    const auto node = state_.nodes.find(history.blamed_node);
    if (node == state_.nodes.end()) return;
    NoteBlame(common::JobId(entry.job.job_id()), history.blamed, now_, &node->second.health);
    state_.ledger.Touch(node->first);
  }

  void SetGrace(absl::Duration grace, JobEntry* entry) {
    entry->stop_grace = grace;
    entry->stop_revision = ++state_.revision;
    TouchNodes(entry->job);
  }

  // Notes that the job asks its nodes for something else, or takes something else from them.
  void TouchNodes(const v1::Job& job) {
    for (const v1::Placement& placement : CurrentGeneration(job)->placements()) {
      const common::NodeId id(placement.node_id());
      state_.ledger.Touch(id);
      changes_.nodes.insert(id);
    }
  }

  void Release(const JobEntry& entry, const v1::Placement& placement) {
    const common::JobId job(entry.job.job_id());
    const auto node = state_.nodes.find(common::NodeId(placement.node_id()));
    if (node == state_.nodes.end()) return;
    node->second.jobs.erase(job);
    const auto consumed = node->second.consumed_sockets.find(placement.store_socket());
    if (consumed != node->second.consumed_sockets.end()) consumed->second = false;
    if (node->second.observed.boot_id() != placement.boot_id()) return;
    if (MayStillStart(entry, node->second)) node->second.settled_from = state_.revision;
  }

  // Returns true if a desired state that asks for the current generation may still be on its way
  // to the node.
  static bool MayStillStart(const JobEntry& entry, const NodeEntry& node) {
    const common::JobId id(entry.job.job_id());
    return FindObserved(node, id, CurrentGeneration(entry.job)->generation()) == nullptr &&
           node.observed.applied_version() < entry.stop_revision;
  }

  void Finish(int exit_code, JobEntry* entry) {
    const common::JobId id(entry->job.job_id());
    entry->job.set_exit_code(exit_code);
    entry->job.set_ended_unix_ms(wall_ms_);
    entry->end_by = absl::InfiniteFuture();
    ForgetCancel(entry);
    state_.unfinished.Erase(id, entry->job.spec().owner());
    state_.finished.push_back(id);
  }

  const absl::Time now_;
  const int64_t wall_ms_;
  ClusterState& state_;
  Changes& changes_;
};

}  // namespace

void Perform(Action action, absl::Time now, absl::Time wall, ClusterState* state,
             Changes* changes) {
  std::visit(Performer(now, wall, state, changes), action);
  const common::JobId& id = JobOf(action);
  if (const JobEntry* entry = FindJob(*state, id)) SortWaiting(*entry, state);
}

}  // namespace accel::coordinator
