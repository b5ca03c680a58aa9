#include "coordinator/coordinator_loop.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "coordinator/access/job_access.h"
#include "coordinator/access/job_account.h"
#include "coordinator/core/access/credentials.h"
#include "coordinator/core/job_owner.h"
#include "coordinator/core/presence.h"
#include "coordinator/core/records.h"
#include "coordinator/core/recover.h"
#include "coordinator/core/requests.h"
#include "coordinator/node_status.h"

namespace accel::coordinator {
namespace {

// The loop wakes this much later than something is due, and then finds more that is due. Each job
// is due when the first of its nodes would count as silent, and then postponed, because its nodes
// have reported.
constexpr absl::Duration kSlack = absl::Milliseconds(20);
constexpr absl::Duration kFirstBackoff = absl::Milliseconds(100);
constexpr absl::Duration kLongestBackoff = absl::Seconds(5);
// Minimum time between two log lines about an event that may repeat.
constexpr absl::Duration kLogPause = absl::Seconds(10);

absl::Status CannotStore(const absl::Status& why) {
  return absl::UnavailableError(
      absl::StrCat("the coordinator cannot store changes at present, so it takes no new jobs; ",
                   "running jobs go on (", why.message(), ")"));
}

absl::Status Ending() { return absl::UnavailableError("the coordinator is shutting down"); }

}  // namespace

CoordinatorLoop::CoordinatorLoop(Options options)
    : options_(std::move(options)),
      inbox_(std::make_shared<Inbox>(options_.clock)),
      absences_(kLogPause),
      unrests_(kLogPause) {}

CoordinatorLoop::~CoordinatorLoop() { Stop(); }

absl::Status CoordinatorLoop::Load() {
  ACCEL_ASSIGN_OR_RETURN(const std::vector<Row> rows, options_.store->Load());
  const Opening opening = {.now = options_.clock->Now(),
                           .wall = options_.wall_clock(),
                           .boot_id = options_.boot_id,
                           .cluster_id = options_.cluster_id,
                           .owner = options_.owner};
  ACCEL_ASSIGN_OR_RETURN(state_, Recover(rows, options_.limits, opening, &changes_));
  for (auto& [id, entry] : state_.jobs) watchers_.Publish({}, &entry.job);
  if (!rows.empty()) {
    common::LogInfo("recovered what was stored", {{"found", DescribeRecovery(state_)},
                                                  {"cluster", state_.facts.cluster_id},
                                                  {"epoch", state_.facts.epoch}});
  }
  if (options_.on_access) options_.on_access(state_.access, EverythingOf(state_.access));
  wake_at_ = opening.now;
  return absl::OkStatus();
}

void CoordinatorLoop::Start() {
  thread_ = std::thread([this] { Run(); });
}

void CoordinatorLoop::Stop() {
  stopping_ = true;
  inbox_->Wake();
  if (thread_.joinable()) thread_.join();
  inbox_->Close();
  Refuse(inbox_->Take(/*with_changes=*/true));
  for (std::vector<Ack>* acks : {&acks_in_commit_, &acks_}) {
    for (Ack& ack : std::exchange(*acks, {})) ack(Ending());
  }
  watchers_.Close();
  sessions_.Close();
  log_hub_.Close();
}

void CoordinatorLoop::Refuse(Inbox::Contents contents) {
  for (ChangeEvent& event : contents.changes) {
    if (auto* submit = std::get_if<SubmitEvent>(&event)) submit->done(Ending());
    if (auto* cancel = std::get_if<CancelEvent>(&event)) cancel->done(Ending());
    if (auto* drain = std::get_if<DrainEvent>(&event)) drain->done(Ending());
    if (auto* access = std::get_if<AccessEvent>(&event)) access->done(Ending());
    if (auto* opened = std::get_if<SessionOpened>(&event)) sessions_.Open(std::move(*opened));
  }
  for (QueryEvent& event : contents.queries) {
    if (auto* watch = std::get_if<WatchEvent>(&event)) watch->on_change(Ending());
    if (auto* list = std::get_if<ListJobsEvent>(&event)) list->done(Ending());
    if (auto* list = std::get_if<ListNodesEvent>(&event)) list->done(Ending());
    if (auto* read = std::get_if<ReadLogsEvent>(&event)) read->pipe->Fail(Ending());
  }
}

void CoordinatorLoop::Run() {
  while (!stopping_) inbox_->Wait(RunOnce() - options_.clock->Now());
}

absl::Time CoordinatorLoop::RunOnce() {
  for (bool due = false;;) {
    // Reads the clock before the inbox, so the turn has all reports that arrived before `now`. If
    // this process is paused after this line, the next turn detects the gap.
    const absl::Time now = options_.clock->Now();
    const bool listens = !committing_;
    Inbox::Contents contents = inbox_->Take(/*with_changes=*/listens);
    if (listens) NoteAbsence(Listen(now, &state_));
    const bool news = !contents.empty();
    due |= news;
    for (ChangeEvent& event : contents.changes) Apply(std::move(event));
    for (QueryEvent& event : contents.queries) Answer(std::move(event));
    if (contents.committed.has_value()) Committed(*std::move(contents.committed));
    if (listens) log_hub_.CheckNodes(state_, now);
    if (listens && (due || now >= wake_at_)) {
      PlanAndCommit(now);
      due = false;
    } else if (!news) {
      return std::min(committing_ ? absl::InfiniteFuture() : wake_at_ + kSlack,
                      now + LongestWait(state_));
    }
  }
}

void CoordinatorLoop::NoteAbsence(absl::Duration away) {
  if (away <= absl::ZeroDuration()) return;
  const auto left_out = absences_.Admit(state_.listened_at);
  if (!left_out.has_value()) return;
  common::LogWarning(
      "was away (stopped, starved of CPU, or waiting for its store); nodes get time to reconnect",
      {{"for", absl::FormatDuration(away)}, {"same_since_last_line", *left_out}});
}

void CoordinatorLoop::Apply(ChangeEvent event) {
  if (auto* submit = std::get_if<SubmitEvent>(&event)) {
    Apply(std::move(*submit));
  } else if (auto* cancel = std::get_if<CancelEvent>(&event)) {
    Apply(std::move(*cancel));
  } else if (auto* drain = std::get_if<DrainEvent>(&event)) {
    Apply(std::move(*drain));
  } else if (auto* access = std::get_if<AccessEvent>(&event)) {
    Apply(std::move(*access));
  } else if (auto* opened = std::get_if<SessionOpened>(&event)) {
    sessions_.Open(std::move(*opened));
  } else if (auto* report = std::get_if<ReportEvent>(&event)) {
    sessions_.Report(std::move(*report), &state_, &changes_);
  } else if (auto* closed = std::get_if<SessionClosed>(&event)) {
    sessions_.Drop(closed->session, &state_);
  }
}

// Refuses a submit id that another user has used. The id names the job of its first user, and the
// error must show nothing about that job.
absl::Status CoordinatorLoop::MayRepeat(const SubmitEvent& event) const {
  const auto known = state_.submits.find(event.submit_id);
  const EndedJob* ended = state_.ended.FindBySubmit(event.submit_id);
  if (known == state_.submits.end() && ended == nullptr) return absl::OkStatus();
  const common::JobId& job = ended == nullptr ? known->second : ended->id;
  if (Owns(event.caller, OwnerOf(job, state_).value_or(""))) return absl::OkStatus();
  return absl::InvalidArgumentError("submit_id: is used already; choose another one");
}

absl::StatusOr<std::string> CoordinatorLoop::AccountFor(const SubmitEvent& event) const {
  std::string own;
  if (event.caller.kind == CallerKind::kUser) {
    const auto record = state_.access.members.find({v1::USER_MEMBER, event.caller.name});
    // The user was removed after the call was admitted. Without a record, the name of the user
    // would be taken as an account.
    if (record == state_.access.members.end()) {
      return absl::UnauthenticatedError(
          absl::StrCat("the cluster has no user ", event.caller.name, " any more"));
    }
    own = record->second.runs_as();
  }
  return ChooseAccount(event.caller, own, event.spec.runs_as());
}

void CoordinatorLoop::Apply(SubmitEvent event) {
  const absl::Status allowed = MayRepeat(event);
  if (!allowed.ok()) return event.done(allowed);
  absl::StatusOr<std::string> account = AccountFor(event);
  if (!account.ok()) return event.done(account.status());
  event.spec.set_owner(event.caller.name);
  event.spec.set_runs_as(*std::move(account));
  // While the store fails, only new jobs are refused. Of an ended job, only the end may be kept.
  const bool is_repeated = state_.submits.contains(event.submit_id) ||
                           state_.ended.FindBySubmit(event.submit_id) != nullptr;
  if (!store_error_.ok() && !is_repeated) {
    return event.done(CannotStore(store_error_));
  }
  absl::StatusOr<common::JobId> job = accel::coordinator::SubmitJob(
      event.submit_id, std::move(event.spec), options_.wall_clock(), &state_, &changes_);
  if (!job.ok()) return event.done(std::move(job));
  acks_.push_back(
      [done = std::move(event.done), id = *std::move(job)](absl::Status status) mutable {
        if (status.ok()) return done(std::move(id));
        done(std::move(status));
      });
}

void CoordinatorLoop::Apply(CancelEvent event) {
  const std::optional<std::string> owner = OwnerOf(event.job, state_);
  if (owner.has_value() && !Owns(event.caller, *owner)) return event.done(NoSuchJob(event.job));
  const absl::Status status =
      accel::coordinator::CancelJob(event.job, event.at_once, &state_, &changes_);
  if (!status.ok()) return event.done(status);
  acks_.push_back(std::move(event.done));
}

void CoordinatorLoop::Apply(DrainEvent event) {
  const absl::Status status = accel::coordinator::DrainNode(event.node, event.drain,
                                                            state_.listened_at, &state_, &changes_);
  if (!status.ok()) return event.done(status);
  acks_.push_back(std::move(event.done));
}

void CoordinatorLoop::Apply(AccessEvent event) {
  const absl::Status status = event.act({.cluster = state_,
                                         .access = &state_.access,
                                         .changes = &changes_.access,
                                         .wall = options_.wall_clock()});
  if (!status.ok()) return event.done(status);
  for (const std::string& node : LostNodes(state_.access, changes_.access, options_.wall_clock())) {
    sessions_.Expel(common::NodeId(node), &state_, &changes_);
  }
  acks_.push_back(std::move(event.done));
}

void CoordinatorLoop::Answer(QueryEvent event) {
  if (auto* watch = std::get_if<WatchEvent>(&event)) {
    watchers_.Watch(std::move(*watch));
  } else if (auto* unwatch = std::get_if<UnwatchEvent>(&event)) {
    watchers_.Unwatch(unwatch->watch);
  } else if (auto* jobs = std::get_if<ListJobsEvent>(&event)) {
    watchers_.List(std::move(*jobs));
  } else if (auto* nodes = std::get_if<ListNodesEvent>(&event)) {
    nodes->done(DescribeNodes(state_, watchers_.jobs(), options_.clock->Now()));
  } else if (auto* read = std::get_if<ReadLogsEvent>(&event)) {
    Answer(std::move(*read));
  } else if (auto* end = std::get_if<EndReadLogsEvent>(&event)) {
    for (const common::NodeId& node : log_hub_.End(end->read)) changes_.nodes.insert(node);
  } else if (auto* relay = std::get_if<EndRelayEvent>(&event)) {
    if (const auto node = log_hub_.EndRelay(relay->reader_id)) changes_.nodes.insert(*node);
  }
}

void CoordinatorLoop::Answer(ReadLogsEvent event) {
  const absl::StatusOr<JobPtr> job = watchers_.Find(common::JobId(event.request.job_id()));
  if (!job.ok()) return event.pipe->Fail(job.status());
  if (!Owns(event.caller, (*job)->spec().owner())) {
    return event.pipe->Fail(NoSuchJob(common::JobId(event.request.job_id())));
  }
  const absl::StatusOr<std::vector<common::NodeId>> nodes =
      log_hub_.Begin(event.read, event.request, **job, state_, event.pipe);
  if (!nodes.ok()) return event.pipe->Fail(nodes.status());
  changes_.nodes.insert(nodes->begin(), nodes->end());
}

void CoordinatorLoop::PlanAndCommit(absl::Time now) {
  const Plan plan = PlanToRest(now, options_.wall_clock(), &state_, &changes_);
  wake_at_ = plan.wake_at;
  if (!plan.actions.empty()) NoteUnrest(plan, now);
  if (changes_.durable()) {
    if (now >= retry_at_) return Commit();
    wake_at_ = std::min(wake_at_, retry_at_);
    return;
  }
  Publish(std::exchange(changes_, {}));
  for (Ack& ack : std::exchange(acks_, {})) ack(absl::OkStatus());
}

void CoordinatorLoop::NoteUnrest(const Plan& plan, absl::Time now) {
  const auto left_out = unrests_.Admit(now);
  if (!left_out.has_value()) return;
  common::LogError("planning does not end, which is a bug in accel; planning again later",
                   {{"next", plan.reason}, {"same_since_last_line", *left_out}});
}

void CoordinatorLoop::Commit() {
  RowBatch batch = RowsOf(state_, changes_);
  in_commit_ = std::exchange(changes_, {});
  acks_in_commit_ = std::exchange(acks_, {});
  committing_ = true;
  options_.store->Commit(std::move(batch), [inbox = inbox_](absl::Status status) {
    inbox->PostCommitted(std::move(status));
  });
}

void CoordinatorLoop::Committed(absl::Status status) {
  committing_ = false;
  Changes changes = std::exchange(in_commit_, {});
  std::vector<Ack> acks = std::exchange(acks_in_commit_, {});
  if (status.ok()) {
    if (!store_error_.ok()) common::LogInfo("stores again; takes new jobs again");
    backoff_ = absl::ZeroDuration();
    retry_at_ = absl::InfinitePast();
    store_error_ = absl::OkStatus();
    Publish(changes);
  } else {
    backoff_ = std::clamp(backoff_ * 2, kFirstBackoff, kLongestBackoff);
    retry_at_ = options_.clock->Now() + backoff_;
    for (const auto& [id, change] : changes.put) {
      if (change.created) TakeBack(id, &state_);
    }
    changes_.AddOlder(std::move(changes));
    common::LogError("cannot store changes, retrying; running jobs go on, new ones are refused",
                     {{"why", status.ToString()}, {"in", absl::FormatDuration(backoff_)}});
    store_error_ = std::move(status);
    status = CannotStore(store_error_);
  }
  for (Ack& ack : acks) ack(status);
}

void CoordinatorLoop::Publish(const Changes& changes) {
  if (options_.on_access && !changes.access.empty()) {
    options_.on_access(state_.access, changes.access);
  }
  for (const common::JobId& id : changes.erase) watchers_.Erase(id);
  for (const auto& [id, change] : changes.put) {
    watchers_.Publish(change.generations, &state_.jobs.at(id).job);
  }
  // Reads the clock again, because the commit may have taken long.
  const absl::Time now = options_.clock->Now();
  SharedStarts starts;
  for (const common::NodeId& node : changes.nodes) sessions_.Publish(node, now, &state_, &starts);
}

}  // namespace accel::coordinator
