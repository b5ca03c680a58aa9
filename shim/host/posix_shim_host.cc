#include "shim/host/posix_shim_host.h"

#include <signal.h>
#include <sys/epoll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "shim/host/generation_start.h"
#include "shim/host/timer.h"

namespace accel::shim {
namespace {

using Phase = HostedShim::Phase;

// Long, because a shim that is killed cannot keep its result, and on a machine that is overloaded
// it may stand still for some seconds.
constexpr absl::Duration kEndSlack = absl::Seconds(10);
// Interval at which shims learn that there is contact. JobSpec.stop_on_disconnect_after_ms is at
// least five times as long.
constexpr absl::Duration kContactInterval = absl::Seconds(1);

}  // namespace

PosixShimHost::PosixShimHost(Options options)
    : options_(std::move(options)),
      watchdog_timer_(MakeTimer()),
      sweep_timer_(MakeTimer()),
      reconnect_timer_(MakeTimer()),
      contact_timer_(MakeTimer()) {
  loop_.Watch(watchdog_timer_.get(), EPOLLIN, [this] { CheckWatchdogs(); });
  loop_.Watch(sweep_timer_.get(), EPOLLIN, [this] { SweepLeftovers(); });
  loop_.Watch(reconnect_timer_.get(), EPOLLIN, [this] { Reconnect(); });
  loop_.Watch(contact_timer_.get(), EPOLLIN, [this] { SendContact(); });
}

absl::Status PosixShimHost::StartShim(const common::JobId& job) {
  if (shims_.count(job) > 0) {
    return absl::AlreadyExistsError(absl::StrCat("Job ", job.value(), " has a shim."));
  }
  auto shim = std::make_unique<HostedShim>(job, options_.shim_slack);
  ACCEL_RETURN_IF_ERROR(Launch(shim.get()));
  WatchProcess(shim.get());
  shims_.emplace(job, std::move(shim));
  return absl::OkStatus();
}

void PosixShimHost::WatchProcess(HostedShim* shim) {
  if (!shim->pidfd.valid()) return;
  loop_.Watch(shim->pidfd.get(), EPOLLIN, [this, shim] { OnExit(shim); });
}

HostedShim* PosixShimHost::FindRunning(const common::JobId& job) {
  const auto found = shims_.find(job);
  if (found == shims_.end() || found->second->phase != Phase::kRunning) return nullptr;
  return found->second.get();
}

absl::Status PosixShimHost::CheckStart(const HostedShim& shim, const StartCommand& start,
                                       bool has_socket) const {
  if (shim.end_sent || shim.leaving) {
    return absl::FailedPreconditionError(
        absl::StrCat("The shim of job ", shim.job.value(), " is shutting down."));
  }
  if (shim.has_live_generation()) {
    return absl::FailedPreconditionError(absl::StrCat("Generation ", shim.newest->id.generation,
                                                      " of job ", shim.job.value(),
                                                      " has not ended."));
  }
  if (shim.channel == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("The shim of job ", shim.job.value(), " cannot be reached."));
  }
  if (start.serves_store && !has_socket) {
    return absl::InvalidArgumentError("A start that serves the store needs its socket.");
  }
  return absl::OkStatus();
}

absl::Status PosixShimHost::StartGeneration(const StartCommand& start,
                                            common::UniqueFd store_socket) {
  HostedShim* shim = FindRunning(start.id.job);
  if (shim == nullptr) {
    return absl::NotFoundError(absl::StrCat("Job ", start.id.job.value(), " has no shim."));
  }
  const bool is_known = shim->newest && start.id.generation <= shim->newest->id.generation;
  if (is_known && !shim->end_sent) return absl::OkStatus();
  ACCEL_RETURN_IF_ERROR(CheckStart(*shim, start, store_socket.valid()));
  const StartCommand filled =
      CompleteStart(start, shim->record, options_.cgroups, options_.spill_dir);
  const std::string payload = EncodeCommand(filled);
  if (payload.size() > kMaxPayloadBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("The start of job ", start.id.job.value(), " takes ", payload.size(),
                     " bytes, the limit is ", kMaxPayloadBytes,
                     ": its environment and arguments are too large."));
  }
  const ShimRecord record = RecordOfStart(filled, shim->record);
  if (shim->folder) ACCEL_RETURN_IF_ERROR(shim->folder->WriteRecord(record));
  shim->record = record;
  shim->newest = ReportFrom(start.id.job, record);
  shim->forgotten = false;
  shim->stop_grace.reset();
  shim->watchdog.Disarm();
  shim->Send(FrameType::kStart, payload, std::move(store_socket));
  WatchChannel(shim);
  ArmContactTimer();
  return absl::OkStatus();
}

absl::Status PosixShimHost::StopGeneration(const StopCommand& stop) {
  HostedShim* shim = FindRunning(stop.id.job);
  if (shim == nullptr) {
    return absl::NotFoundError(absl::StrCat("Job ", stop.id.job.value(), " has no shim."));
  }
  if (!shim->newest || shim->newest->id != stop.id) return absl::OkStatus();
  // Repeated stops are not sent again, so they do not pile up in the channel of a shim
  // that does not read.
  if (shim->stop_grace && *shim->stop_grace <= stop.grace) return absl::OkStatus();
  shim->stop_grace = stop.grace;
  const bool reachable = shim->channel != nullptr;
  const absl::Duration grace =
      reachable ? stop.grace : std::max(stop.grace, shim->record.orphan_grace);
  shim->watchdog.StopSent(common::SteadyClock()->Now(), grace);
  ArmWatchdogTimer();
  if (!reachable) shim->Terminate();
  shim->Send(FrameType::kStop, EncodeCommand(stop));
  WatchChannel(shim);
  // The shim has the priority of its workers. If they take all processors, as those of a fork bomb
  // do, it would read the command half a second later (docs/decisions/0098).
  if (stop.grace <= absl::ZeroDuration()) process::Cgroup::Find(shim->record.cgroup).Kill();
  return absl::OkStatus();
}

void PosixShimHost::EndShim(const common::JobId& job) {
  HostedShim* shim = FindRunning(job);
  if (shim == nullptr || shim->end_sent) return;
  shim->end_sent = true;
  shim->watchdog.ExitSent(common::SteadyClock()->Now());
  ArmWatchdogTimer();
  if (shim->channel == nullptr) shim->Terminate();
  shim->Send(FrameType::kEnd, EncodeCommand(EndCommand()));
  WatchChannel(shim);
}

void PosixShimHost::Forget(const common::JobId& job) {
  const auto found = shims_.find(job);
  if (found != shims_.end()) {
    found->second->forgotten = true;
    return;
  }
  if (options_.shims_dir.empty()) return;
  absl::StatusOr<ShimFolder> folder = ShimFolder::Make(options_.shims_dir, job);
  if (folder.ok()) folder->Remove();
}

void PosixShimHost::SetContact(bool contact) {
  const bool is_new = contact && !contact_;
  contact_ = contact;
  if (is_new) SendContact();
}

void PosixShimHost::ArmContactTimer() {
  const bool any = std::any_of(shims_.begin(), shims_.end(), [](const auto& entry) {
    return entry.second->record.requires_contact && entry.second->has_live_generation();
  });
  if (!contact_ || !any || contact_armed_) return;
  contact_armed_ = true;
  ArmTimer(contact_timer_, kContactInterval);
}

void PosixShimHost::SendContact() {
  ClearTimer(contact_timer_);
  contact_armed_ = false;
  for (auto& [job, shim] : shims_) {
    // Nothing piles up in the channel of a shim that does not read.
    if (!contact_ || !shim->record.requires_contact || shim->phase != Phase::kRunning) continue;
    if (shim->channel == nullptr || shim->channel->has_unsent()) continue;
    shim->Send(FrameType::kContact, EncodeCommand(ContactCommand()));
    WatchChannel(shim.get());
  }
  ArmContactTimer();
}

void PosixShimHost::CheckWatchdogs() {
  ClearTimer(watchdog_timer_);
  for (auto& [job, shim] : shims_) {
    if (shim->phase != Phase::kRunning) continue;
    const ShimWatchdog::Step step = shim->watchdog.Due(common::SteadyClock()->Now());
    if (step == ShimWatchdog::Step::kSendAgain) {
      const StopCommand again = {shim->newest->id, absl::ZeroDuration()};
      if (shim->channel == nullptr) shim->Terminate();
      shim->Send(FrameType::kStop, EncodeCommand(again));
      WatchChannel(shim.get());
    } else if (step == ShimWatchdog::Step::kKill) {
      common::LogError("Killing a shim that does not respond",
                       {{"job", job.value()}, {"pid", shim->record.pid}});
      shim->unresponsive = true;
      shim->Signal(SIGKILL);
    }
  }
  ArmWatchdogTimer();
}

void PosixShimHost::ArmWatchdogTimer() {
  absl::Time wake_at = absl::InfiniteFuture();
  for (const auto& [job, shim] : shims_) {
    if (shim->phase == Phase::kRunning) wake_at = std::min(wake_at, shim->watchdog.wake_at());
  }
  if (wake_at != absl::InfiniteFuture()) {
    ArmTimer(watchdog_timer_, wake_at - common::SteadyClock()->Now());
  }
}

std::vector<ShimReport> PosixShimHost::TakeReports() {
  loop_.RunOnce(absl::ZeroDuration());
  std::vector<ShimReport> reports;
  for (auto entry = shims_.begin(); entry != shims_.end();) {
    HostedShim& shim = *entry->second;
    const bool gone = shim.phase == Phase::kGone;
    if (std::exchange(shim.changed, false)) {
      reports.push_back({entry->first, shim.newest, gone, shim.leaving});
    }
    entry = gone ? shims_.erase(entry) : std::next(entry);
  }
  return reports;
}

bool PosixShimHost::EndsWithHost(const HostedShim& shim) {
  if (shim.phase == Phase::kGone) return false;
  if (!shim.folder || shim.phase == Phase::kLeftovers) return true;
  if (shim.end_sent) return true;
  return shim.channel != nullptr && !shim.record.keep_without_agent;
}

PosixShimHost::~PosixShimHost() {
  absl::Duration grace;
  for (auto& [job, shim] : shims_) {
    shim->ends_with_host = EndsWithHost(*shim);
    if (shim->ends_with_host) grace = std::max(grace, shim->record.orphan_grace);
    // Sends what is waiting, such as the command to exit.
    if (shim->channel != nullptr) shim->channel->Flush();
    CloseChannel(shim.get());
  }
  AwaitShims(grace + kEndSlack);
  for (auto& [job, shim] : shims_) {
    if (shim->phase == Phase::kRunning && shim->ends_with_host) shim->Signal(SIGKILL);
  }
  AwaitShims(kEndSlack);
}

void PosixShimHost::AwaitShims(absl::Duration at_most) {
  const absl::Time until = common::SteadyClock()->Now() + at_most;
  const auto all_gone = [this] {
    return std::none_of(shims_.begin(), shims_.end(), [](const auto& entry) {
      return entry.second->phase == Phase::kLeftovers ||
             (entry.second->phase == Phase::kRunning && entry.second->ends_with_host);
    });
  };
  while (!all_gone() && common::SteadyClock()->Now() < until)
    loop_.RunOnce(until - common::SteadyClock()->Now());
}

}  // namespace accel::shim
