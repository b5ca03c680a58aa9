#include "shim/host/fake_shim_host.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace accel::shim {
namespace {

using State = GenerationReport::State;

ExitFact Fact(ExitFact::Kind kind) {
  ExitFact fact;
  fact.kind = kind;
  return fact;
}

}  // namespace

FakeShimHost::FakeShimHost() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void FakeShimHost::Changed(const common::JobId& job) {
  shims_.at(job).changed = true;
  eventfd_write(wake_.get(), 1);
}

GenerationReport* FakeShimHost::Newest(const common::JobId& job) {
  const auto found = shims_.find(job);
  ACCEL_CHECK(found != shims_.end() && found->second.newest, "the test started a generation");
  return &*found->second.newest;
}

std::vector<ShimReport> FakeShimHost::Adopt() {
  for (auto& [job, shim] : shims_) shim.changed = true;
  return TakeReports();
}

void FakeShimHost::KillAgent() {
  for (auto& [job, shim] : shims_) {
    if (shim.keep) continue;
    if (shim.newest && shim.newest->state != State::kEnded) {
      shim.newest->failure = Fact(ExitFact::Kind::kAbandoned);
      ExitAll(job, *shim.newest->failure);
    }
    shim.ended = true;
  }
}

absl::Status FakeShimHost::StartShim(const common::JobId& job) {
  if (!next_shim_.ok()) return std::exchange(next_shim_, absl::OkStatus());
  if (!shims_.emplace(job, Shim()).second) {
    return absl::AlreadyExistsError(absl::StrCat("Job ", job.value(), " has a shim."));
  }
  return absl::OkStatus();
}

absl::Status FakeShimHost::StartShimAs(const common::JobId& job, const process::Account& user) {
  users_[job] = user.name;
  uids_[job] = user.uid;
  return StartShim(job);
}

std::optional<uid_t> FakeShimHost::UserOf(const common::JobId& job) const {
  if (!shims_.contains(job)) return std::nullopt;
  const auto uid = uids_.find(job);
  return uid == uids_.end() ? 0 : uid->second;
}

absl::Status FakeShimHost::StartGeneration(const StartCommand& start,
                                           common::UniqueFd store_socket) {
  const auto found = shims_.find(start.id.job);
  if (found == shims_.end() || found->second.ended) {
    return absl::NotFoundError(absl::StrCat("Job ", start.id.job.value(), " has no shim."));
  }
  if (found->second.leaving) {
    return absl::FailedPreconditionError(
        absl::StrCat("The shim of job ", start.id.job.value(), " is shutting down."));
  }
  std::optional<GenerationReport>& newest = found->second.newest;
  if (newest && start.id.generation <= newest->id.generation) return absl::OkStatus();
  if (newest && newest->state != State::kEnded) {
    return absl::FailedPreconditionError("The earlier generation has not ended.");
  }
  if (start.serves_store && !store_socket.valid()) {
    return absl::InvalidArgumentError("A start that serves the store needs its socket.");
  }
  starts_.push_back(start);
  found->second.keep = start.keep_without_agent;
  newest = GenerationReport();
  newest->id = start.id;
  newest->log_dir = start.log_dir;
  newest->orphan_grace = start.orphan_grace;
  for (const WorkerStart& worker : start.workers) {
    WorkerReport report;
    report.rank = worker.rank;
    report.local_rank = worker.local_rank;
    newest->workers.push_back(std::move(report));
  }
  Changed(start.id.job);
  return absl::OkStatus();
}

absl::Status FakeShimHost::StopGeneration(const StopCommand& stop) {
  const auto found = shims_.find(stop.id.job);
  if (found == shims_.end() || found->second.ended) {
    return absl::NotFoundError(absl::StrCat("Job ", stop.id.job.value(), " has no shim."));
  }
  std::optional<GenerationReport>& newest = found->second.newest;
  if (!newest || newest->id != stop.id || newest->state == State::kEnded) return absl::OkStatus();
  stops_.push_back(stop);
  newest->state = State::kStopping;
  Changed(stop.id.job);
  return absl::OkStatus();
}

void FakeShimHost::EndShim(const common::JobId& job) {
  const auto found = shims_.find(job);
  if (found == shims_.end() || found->second.ended || found->second.leaving) return;
  if (found->second.newest && found->second.newest->state != State::kEnded) {
    ExitFact killed = Fact(ExitFact::Kind::kSignalled);
    killed.signal = 9;
    ExitAll(job, killed);
  }
  found->second.leaving = true;
  if (hold_leaving_) return;
  found->second.ended = true;
  Changed(job);
}

void FakeShimHost::HoldLeaving(bool hold) {
  hold_leaving_ = hold;
  if (hold) return;
  for (auto& [job, shim] : shims_) {
    if (!shim.leaving || shim.ended) continue;
    shim.ended = true;
    Changed(job);
  }
}

std::vector<ShimReport> FakeShimHost::TakeReports() {
  eventfd_t count = 0;
  eventfd_read(wake_.get(), &count);
  std::vector<ShimReport> reports;
  for (auto entry = shims_.begin(); entry != shims_.end();) {
    Shim& shim = entry->second;
    if (std::exchange(shim.changed, false)) {
      reports.push_back({entry->first, shim.newest, shim.ended});
    }
    entry = shim.ended ? shims_.erase(entry) : std::next(entry);
  }
  return reports;
}

void FakeShimHost::ExecDone(const common::JobId& job) {
  GenerationReport* newest = Newest(job);
  newest->state = State::kRunning;
  for (WorkerReport& worker : newest->workers) worker.pid = 1000 + worker.rank;
  Changed(job);
}

void FakeShimHost::FailToStart(const common::JobId& job, const ExitFact& why) {
  Newest(job)->failure = why;
  ExitAll(job, why);
}

void FakeShimHost::Exit(const common::JobId& job, int rank, const ExitFact& how,
                        std::vector<std::string> last_lines) {
  GenerationReport* newest = Newest(job);
  bool any_runs = false;
  for (WorkerReport& worker : newest->workers) {
    if (worker.rank == rank && !worker.exit) {
      worker.exit = how;
      worker.last_lines = last_lines;
    }
    any_runs |= !worker.exit.has_value();
  }
  if (!any_runs) newest->state = State::kEnded;
  Changed(job);
}

void FakeShimHost::ExitAll(const common::JobId& job, const ExitFact& how) {
  const std::vector<WorkerReport> workers = Newest(job)->workers;
  for (const WorkerReport& worker : workers) Exit(job, worker.rank, how);
}

void FakeShimHost::KillShim(const common::JobId& job) {
  GenerationReport* newest = Newest(job);
  if (newest->state != State::kEnded) {
    newest->failure = Fact(ExitFact::Kind::kShimDied);
    ExitAll(job, *newest->failure);
  }
  shims_.at(job).ended = true;
  Changed(job);
}

}  // namespace accel::shim
