#include "agent/agent.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "agent/base_env.h"
#include "agent/core/conversion.h"
#include "agent/state/job_folder.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "logs/log_paths.h"

namespace accel::agent {
namespace {

// Returns the folder of a generation's output. `own` is the directory that the job
// asked for, if any.
std::string LogDir(const std::string& jobs_dir, const std::string& own,
                   const common::GenerationId& id) {
  return logs::GenerationLogDir(logs::JobLogDir(own.empty() ? jobs_dir : own, id.job.value()),
                                id.generation);
}

OutputPruner::Options In(const std::string& jobs_dir, OutputPruner::Options options) {
  options.jobs_dir = jobs_dir;
  return options;
}

}  // namespace

Agent::Agent(Options options, Dependencies dependencies)
    : options_(std::move(options)),
      with_(dependencies),
      state_(options_.identity),
      membership_(options_.cluster),
      pruner_(In(options_.jobs_dir, options_.output)),
      heartbeat_(options_.heartbeat) {
  for (const shim::ShimReport& report : with_.shims->Adopt()) state_.AdoptShim(report);
  state_.SetStoreSockets(with_.store_sockets->List(), with_.store_sockets->missing());
  jobs_ = state_.jobs();
  pruner_.PruneJobs(jobs_);
}

absl::Status Agent::RunOnce() {
  const uint64_t revision = state_.revision();
  const uint64_t news = state_.news();
  const uint64_t starts = state_.starts();
  for (const shim::ShimReport& report : with_.shims->TakeReports()) state_.Apply(report);
  Exchange();
  if (with_.accounts != nullptr) with_.accounts->Update();
  if (with_.code != nullptr) with_.code->Update();
  std::vector<CodeRequest> uploads;
  const std::vector<AgentAction> actions = state_.Reconcile(
      [this, &uploads](const auto& desired) { return MayStart(desired, &uploads); });
  // The pruner must know that a job is live before the job's first output is written.
  TidyUp();
  Act(actions);
  // Without a desired state, for example in a new session, it is not known which starts wait.
  if (with_.code != nullptr && state_.has_desired()) with_.code->Set(uploads);
  Relay();
  const bool starts_only = state_.news() == news && state_.starts() != starts;
  if (starts_only && reports_.MayWait(revision)) {
    reports_.Hold(state_.revision(), with_.clock->Now());
  }
  ReportIfDue();
  return with_.link->fatal();
}

bool Agent::MayStart(const v1::DesiredGeneration& desired, std::vector<CodeRequest>* uploads) {
  // It must be known who the job's user is.
  if (with_.accounts != nullptr && !with_.accounts->IsKnown(desired.runs_as())) return false;
  if (desired.upload().empty() || with_.code == nullptr) return true;
  auto user = AccountOf(desired.runs_as());
  if (!user.ok()) return true;  // Start() fails for this reason.
  const common::JobId job(desired.key().job_id());
  uploads->push_back({.job = job, .tree = desired.upload(), .user = *std::move(user)});
  return with_.code->IsKnown(job);
}

absl::Status Agent::EnterUpload(const v1::DesiredGeneration& desired,
                                shim::StartCommand* start) const {
  if (desired.upload().empty()) return absl::OkStatus();
  if (with_.code == nullptr) return absl::UnimplementedError("this node takes no uploads");
  ACCEL_ASSIGN_OR_RETURN(std::string folder, with_.code->Find(start->id.job));
  if (start->workdir.empty()) start->workdir = std::move(folder);
  return absl::OkStatus();
}

void Agent::Exchange() {
  if (const uint64_t session = with_.link->session(); session != session_) {
    session_ = session;
    state_.NewSession();
    refused_.reset();
    answered_at_ = absl::Time();
    // A coordinator of another cluster must not plan anything for this node meanwhile.
    const ClusterHoldings has = state_.Holdings();
    if (has.processes || has.results) state_.Refuse("has not yet heard from this coordinator");
    reports_.StartSession();
  }
  if (std::optional<v1::NodeDesired> desired = with_.link->TakeDesired(session_)) {
    refused_ = std::move(desired);
  }
  // What was refused is judged again, because jobs may have ended meanwhile.
  if (refused_.has_value() && MayObey(*refused_)) Obey(*std::exchange(refused_, std::nullopt));
  // A session in which no desired state was accepted is no contact: the coordinator may refuse this
  // node, or know nothing of its jobs.
  with_.shims->SetContact(session_ != 0 && state_.has_desired());
}

void Agent::Relay() {
  std::vector<RelaySource> sources;
  // The readers of the state are clients of another coordinator.
  if (refused_.has_value()) return with_.relays->Set(sources);
  for (const v1::LogReader& reader : state_.desired().log_readers()) {
    const common::GenerationId id{common::JobId(reader.job_id()), reader.generation()};
    RelaySource source = {.reader = reader,
                          .log_dir = LogDir(options_.jobs_dir, reader.log_dir(), id),
                          .complete = !state_.MayWrite(id)};
    if (SetRights(reader, &source)) sources.push_back(std::move(source));
  }
  with_.relays->Set(sources);
}

bool Agent::SetRights(const v1::LogReader& reader, RelaySource* source) const {
  if (with_.accounts == nullptr) return true;
  if (reader.log_dir().empty()) {
    // The owner of the folder counts, also if the account has been removed from the node since.
    source->jobs_dir = options_.jobs_dir;
    return true;
  }
  // An answer whose time is over counts until the next one, so that no relay that runs is cut.
  if (!with_.accounts->IsKnown(reader.runs_as()) && !with_.accounts->HasAnswer(reader.runs_as())) {
    return false;
  }
  auto account = AccountOf(reader.runs_as());
  if (account.ok()) {
    source->user = *std::move(account);
  } else {
    source->refusal = std::string(account.status().message());
  }
  return true;
}

absl::StatusOr<std::optional<process::Account>> Agent::AccountOf(const std::string& runs_as) const {
  if (with_.accounts == nullptr) return std::nullopt;
  return with_.accounts->Find(runs_as);
}

void Agent::Act(const std::vector<AgentAction>& actions) {
  for (const AgentAction& action : actions) {
    std::visit([this](const auto& each) { Perform(each); }, action);
  }
  if (with_.store_sockets->Refill()) {
    state_.SetStoreSockets(with_.store_sockets->List(), with_.store_sockets->missing());
  }
}

void Agent::Perform(const StartPart& action) {
  const common::GenerationId id{common::JobId(action.desired.key().job_id()),
                                action.desired.key().generation()};
  common::LogInfo("start", {{"job", id.job.value()},
                            {"generation", id.generation},
                            {"workers", action.desired.workers_size()}});
  bool has_shim = !action.with_shim;
  const absl::Status started = Start(action, &has_shim);
  if (started.ok()) return;
  common::LogError(
      "not started",
      {{"job", id.job.value()}, {"generation", id.generation}, {"why", started.ToString()}});
  state_.StartFailed(id, started, has_shim);
}

absl::Status Agent::Start(const StartPart& action, bool* has_shim) {
  const v1::DesiredGeneration& desired = action.desired;
  common::UniqueFd socket = with_.store_sockets->Take(desired.store_socket());
  // The start is converted before there is a shim, because a start that is too large fails here,
  // and a new shim would then have nothing to do.
  ACCEL_ASSIGN_OR_RETURN(const auto user, AccountOf(desired.runs_as()));
  ACCEL_ASSIGN_OR_RETURN(
      shim::StartCommand start,
      ToStart(desired, user ? UserBaseEnv(*user, options_.pass_env) : options_.base_env));
  ACCEL_RETURN_IF_ERROR(PrepareFolder(desired, user));
  ACCEL_RETURN_IF_ERROR(EnterUpload(desired, &start));
  if (action.with_shim) {
    ACCEL_RETURN_IF_ERROR(StartShim(start.id.job, user));
    *has_shim = true;
  } else {
    // A later generation must not run as another user than its account says.
    ACCEL_RETURN_IF_ERROR(CheckShim(start.id.job, user));
  }
  start.log_dir = LogDir(options_.jobs_dir, desired.log_dir(), start.id);
  if (desired.log_dir().empty()) pruner_.PruneGenerations(start.id.job, start.id.generation);
  return with_.shims->StartGeneration(start, std::move(socket));
}

absl::Status Agent::PrepareFolder(const v1::DesiredGeneration& desired,
                                  const std::optional<process::Account>& user) {
  if (!desired.log_dir().empty()) return absl::OkStatus();
  const common::JobId job(desired.key().job_id());
  if (user) return MakeJobFolder(options_.jobs_dir, job, *user);
  // Other users reach the folders of an agent that is root, so its own jobs' are closed too.
  if (with_.accounts == nullptr || geteuid() != 0) return absl::OkStatus();
  process::Account self;
  self.name = OwnAccount();
  self.uid = geteuid();
  self.gid = getegid();
  return MakeJobFolder(options_.jobs_dir, job, self);
}

absl::Status Agent::CheckShim(const common::JobId& job,
                              const std::optional<process::Account>& user) const {
  const std::optional<uid_t> has = with_.shims->UserOf(job);
  const uid_t wanted = user ? user->uid : 0;
  // Without a shim, the start fails and says so.
  if (!has || *has == wanted) return absl::OkStatus();
  const auto name = [](uid_t uid) { return uid == 0 ? "the agent" : absl::StrCat("uid ", uid); };
  return absl::FailedPreconditionError(
      absl::StrCat("job ", job.value(), " runs here as ", name(*has), ", and its account is ",
                   name(wanted), " now; cancel it and submit it again"));
}

absl::Status Agent::StartShim(const common::JobId& job,
                              const std::optional<process::Account>& user) {
  if (!user) return with_.shims->StartShim(job);
  common::LogInfo("the job runs as its user",
                  {{"job", job.value()}, {"account", user->name}, {"uid", user->uid}});
  return with_.shims->StartShimAs(job, *user);
}

void Agent::Perform(const StopPart& action) {
  common::LogInfo("stop", {{"job", action.stop.id.job.value()},
                           {"generation", action.stop.id.generation},
                           {"grace", absl::FormatDuration(action.stop.grace)}});
  const absl::Status stopped = with_.shims->StopGeneration(action.stop);
  // If the shim is gone there is nothing to stop, and its end is reported separately.
  if (!stopped.ok())
    common::LogWarning("stop", {{"job", action.stop.id.job.value()}, {"why", stopped.ToString()}});
}

void Agent::Perform(const EndShim& action) { with_.shims->EndShim(action.job); }

void Agent::TidyUp() {
  std::set<common::JobId> jobs = state_.jobs();
  if (jobs == jobs_) return;
  for (const common::JobId& job : jobs_) {
    if (!jobs.contains(job)) with_.shims->Forget(job);
  }
  jobs_ = std::move(jobs);
  pruner_.PruneJobs(jobs_);
}

void Agent::NoteRefusals() {
  if (state_.refused() == refusals_noted_) return;
  refusals_noted_ = state_.refused();
  common::LogWarning("refused stale commands of the coordinator", {{"so_far", refusals_noted_}});
}

absl::Time Agent::ReportDue() const {
  return session_ == 0 ? absl::InfiniteFuture() : reports_.Due(state_.revision());
}

void Agent::ReportIfDue() {
  const absl::Time now = with_.clock->Now();
  if (now < ReportDue()) return;
  reports_.Sent(state_.revision(), now,
                options_.wall ? UntilHeartbeat(options_.wall(), heartbeat_) : heartbeat_);
  v1::NodeObserved observed = state_.Observed(with_.link->max_report_bytes());
  observed.set_sequence(++sequence_);
  observed.set_made_us(absl::ToUnixMicros(now));
  observed.set_answered_us(absl::ToUnixMicros(answered_at_));
  with_.link->Report(std::move(observed));
}

bool Agent::Wait(int stop_fd, absl::Time until) {
  pollfd fds[] = {{stop_fd, POLLIN, 0},
                  {with_.shims->wake_fd(), POLLIN, 0},
                  {with_.link->wake_fd(), POLLIN, 0},
                  {with_.accounts == nullptr ? -1 : with_.accounts->wake_fd(), POLLIN, 0},
                  {with_.code == nullptr ? -1 : with_.code->wake_fd(), POLLIN, 0}};
  if (with_.accounts != nullptr) until = std::min(until, with_.accounts->wake_at());
  until = std::min(until, ReportDue());
  const absl::Duration left = until - with_.clock->Now();
  timespec timeout = absl::ToTimespec(std::max(left, absl::ZeroDuration()));
  const int ready =
      ppoll(fds, std::size(fds), left == absl::InfiniteDuration() ? nullptr : &timeout, nullptr);
  return ready > 0 && (fds[0].revents & POLLIN) != 0;
}

absl::Status Agent::Run(int stop_fd) {
  do {
    if (absl::Status fatal = RunOnce(); !fatal.ok()) return fatal;
  } while (!Wait(stop_fd));
  return absl::OkStatus();
}

}  // namespace accel::agent
