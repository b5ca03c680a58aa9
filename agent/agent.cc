#include "agent/agent.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "agent/core/conversion.h"
#include "common/log.h"

namespace accel {

Agent::Agent(Options options, Dependencies dependencies)
    : options_(std::move(options)),
      with_(dependencies),
      state_(options_.identity),
      heartbeat_(options_.heartbeat) {
  state_.SetStoreSockets(with_.store_sockets->List());
}

absl::Status Agent::RunOnce() {
  for (const ShimReport& report : with_.shims->TakeReports()) state_.Apply(report);
  Exchange();
  Act(state_.Reconcile());
  Relay();
  ReportIfDue();
  return with_.link->fatal();
}

void Agent::Exchange() {
  if (const uint64_t session = with_.link->session(); session != session_) {
    session_ = session;
    state_.NewSession();
    next_report_ = absl::InfinitePast();
  }
  std::optional<v1::NodeDesired> desired = with_.link->TakeDesired();
  if (!desired.has_value()) return;
  state_.SetDesired(*std::move(desired));
  if (const int64_t ms = state_.desired().heartbeat_ms(); ms > 0)
    heartbeat_ = absl::Milliseconds(ms);
}

void Agent::Relay() {
  std::vector<RelaySource> sources;
  for (const v1::LogReader& reader : state_.desired().log_readers()) {
    const GenerationId id{JobId(reader.job_id()), reader.generation()};
    const auto own = log_dirs_.find(id);
    sources.push_back(
        {.reader = reader,
         .log_dir = own != log_dirs_.end() ? own->second : LogDir(options_.jobs_dir, id),
         .complete = !state_.IsAlive(id)});
  }
  with_.relays->Set(sources);
}

void Agent::Act(const std::vector<AgentAction>& actions) {
  for (const AgentAction& action : actions) {
    std::visit([this](const auto& each) { Perform(each); }, action);
  }
  if (with_.store_sockets->Refill()) state_.SetStoreSockets(with_.store_sockets->List());
}

void Agent::Perform(const StartShimAction& action) {
  const absl::Status started = with_.shims->StartShim(action.job);
  // The generation's start comes next and fails in turn, which reports it.
  if (!started.ok())
    LogError("no shim", {{"job", action.job.value()}, {"why", started.ToString()}});
}

void Agent::Perform(const StartGenerationAction& action) {
  const v1::DesiredGeneration& desired = action.desired;
  GenerationStart start = ToStart(desired, options_.base_env);
  start.log_dir =
      LogDir(desired.log_dir().empty() ? options_.jobs_dir : desired.log_dir(), start.id);
  if (!desired.log_dir().empty()) log_dirs_[start.id] = start.log_dir;
  UniqueFd socket = with_.store_sockets->Take(desired.store_socket());
  LogInfo("start", {{"job", start.id.job.value()},
                    {"generation", start.id.generation},
                    {"workers", start.workers.size()}});
  if (const absl::Status started = with_.shims->StartGeneration(start, std::move(socket));
      !started.ok()) {
    state_.StartFailed(start.id,
                       absl::StrCat("the node's shim did not take the work: ", started.message()));
  }
}

void Agent::Perform(const StopGenerationAction& action) {
  LogInfo("stop", {{"job", action.stop.id.job.value()},
                   {"generation", action.stop.id.generation},
                   {"grace", absl::FormatDuration(action.stop.grace)}});
  const absl::Status stopped = with_.shims->StopGeneration(action.stop);
  // Without a shim there is nothing to stop: its end is reported by itself.
  if (!stopped.ok())
    LogWarning("stop", {{"job", action.stop.id.job.value()}, {"why", stopped.ToString()}});
}

void Agent::Perform(const EndShimAction& action) {
  with_.shims->EndShim(action.job);
  std::erase_if(log_dirs_, [&](const auto& entry) { return entry.first.job == action.job; });
  if (options_.on_job_end) options_.on_job_end(state_.jobs());
}

void Agent::ReportIfDue() {
  const absl::Time now = with_.clock->Now();
  if (session_ == 0) return;
  if (state_.revision() == reported_revision_ && now < next_report_) return;
  reported_revision_ = state_.revision();
  next_report_ = now + heartbeat_;
  v1::NodeObserved observed = state_.Observed();
  observed.set_sequence(++sequence_);
  with_.link->Report(std::move(observed));
}

bool Agent::Wait(int stop_fd) {
  pollfd fds[] = {{stop_fd, POLLIN, 0},
                  {with_.shims->wake_fd(), POLLIN, 0},
                  {with_.link->wake_fd(), POLLIN, 0}};
  const absl::Duration left =
      session_ == 0 ? absl::InfiniteDuration() : next_report_ - with_.clock->Now();
  timespec timeout = absl::ToTimespec(std::max(left, absl::ZeroDuration()));
  const int ready = ppoll(fds, 3, left == absl::InfiniteDuration() ? nullptr : &timeout, nullptr);
  return ready > 0 && (fds[0].revents & POLLIN) != 0;
}

absl::Status Agent::Run(int stop_fd) {
  do {
    if (absl::Status fatal = RunOnce(); !fatal.ok()) return fatal;
  } while (!Wait(stop_fd));
  return absl::OkStatus();
}

std::string Agent::LogDir(const std::string& base, const GenerationId& id) const {
  return absl::StrCat(base, "/", id.job.value(), "/gen_", id.generation);
}

}  // namespace accel
