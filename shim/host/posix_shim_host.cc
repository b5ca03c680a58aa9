#include "shim/host/posix_shim_host.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/log.h"
#include "logs/log_paths.h"
#include "process/process_table.h"
#include "process/spawn.h"
#include "process/sweep.h"
#include "shim/shim_program.h"

namespace accel::shim {
namespace {

constexpr absl::Duration kFirstSweepPause = absl::Milliseconds(1);
constexpr absl::Duration kLongestSweepPause = absl::Milliseconds(100);
constexpr absl::Duration kEndSlack = absl::Seconds(2);

// Returns how a shim ended, as a sentence.
std::string Ending(int wait_status, bool unresponsive) {
  if (unresponsive) return "accel-shim did not respond and was killed.";
  if (WIFSIGNALED(wait_status)) {
    return absl::StrCat("accel-shim was killed by signal ", WTERMSIG(wait_status), ".");
  }
  return absl::StrCat("accel-shim exited with code ", WEXITSTATUS(wait_status), ".");
}

GenerationReport FirstReport(const StartCommand& start) {
  GenerationReport report;
  report.id = start.id;
  for (const WorkerStart& worker : start.workers) {
    WorkerReport of_worker;
    of_worker.rank = worker.rank;
    of_worker.local_rank = worker.local_rank;
    report.workers.push_back(std::move(of_worker));
  }
  return report;
}

ExitFact ShimDied(const std::string& how) {
  ExitFact fact;
  fact.kind = ExitFact::Kind::kShimDied;
  fact.message = how;
  return fact;
}

common::UniqueFd MakeTimer() {
  return common::UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
}

void Arm(const common::UniqueFd& timer, absl::Duration in) {
  // A timer of zero would be disarmed.
  const itimerspec once = {{0, 0}, absl::ToTimespec(std::max(in, absl::Nanoseconds(1)))};
  timerfd_settime(timer.get(), 0, &once, nullptr);
}

void ClearTimer(const common::UniqueFd& timer) {
  uint64_t expirations = 0;
  while (read(timer.get(), &expirations, sizeof(expirations)) > 0) continue;
}

process::SpawnResult SpawnShim(const PosixShimHost::Options& host, int control) {
  const common::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  process::SpawnOptions options;
  options.path = host.shim_path;
  options.argv = {host.shim_path, kShimControlFlag};
  options.open_files = host.open_files;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    options.fds.push_back({fcntl(fd, F_GETFD) < 0 ? null.get() : fd, fd});
  }
  options.fds.push_back({control, kShimControlFd});
  if (host.inherit_fd >= 0) options.fds.push_back({host.inherit_fd, kShimControlFd + 1});
  return process::Spawn(options, /*keep_hangup_ignored=*/true);
}

}  // namespace

PosixShimHost::PosixShimHost(Options options)
    : options_(std::move(options)),
      watchdog_timer_(MakeTimer()),
      sweep_timer_(MakeTimer()),
      sweep_pause_(kFirstSweepPause) {
  loop_.Watch(watchdog_timer_.get(), EPOLLIN, [this] { CheckWatchdogs(); });
  loop_.Watch(sweep_timer_.get(), EPOLLIN, [this] { SweepLeftovers(); });
}

absl::Status PosixShimHost::StartShim(const common::JobId& job) {
  if (shims_.count(job) > 0) {
    return absl::AlreadyExistsError(absl::StrCat("Job ", job.value(), " has a shim."));
  }
  auto [ours, theirs] = MakeChannelSockets();
  if (!ours.valid()) return absl::ErrnoToStatus(errno, "Cannot make a socket for accel-shim");
  const process::SpawnResult spawned = SpawnShim(options_, theirs.get());
  if (!spawned.ok()) {
    return absl::InternalError(absl::StrCat("Cannot start ", options_.shim_path, ": ",
                                            strerror(spawned.error.error), "."));
  }
  auto shim = std::make_unique<Shim>(std::move(ours), spawned.pid, options_.shim_slack);
  shim->pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, spawned.pid, 0)));
  if (shim->pidfd.valid()) {
    loop_.Watch(shim->pidfd.get(), EPOLLIN, [this, it = shim.get()] { OnExit(it); });
  }
  WatchChannel(shim.get());
  shims_.emplace(job, std::move(shim));
  return absl::OkStatus();
}

PosixShimHost::Shim* PosixShimHost::FindRunning(const common::JobId& job) {
  const auto found = shims_.find(job);
  if (found == shims_.end() || found->second->phase != Shim::Phase::kRunning) return nullptr;
  return found->second.get();
}

void PosixShimHost::WatchChannel(Shim* shim) {
  const uint32_t room = shim->channel.has_unsent() ? uint32_t{EPOLLOUT} : 0;
  loop_.Watch(shim->channel.fd(), EPOLLIN | room, [this, shim] { OnChannel(shim); });
}

absl::Status PosixShimHost::StartGeneration(const StartCommand& start,
                                            common::UniqueFd store_socket) {
  Shim* shim = FindRunning(start.id.job);
  if (shim == nullptr) {
    return absl::NotFoundError(absl::StrCat("Job ", start.id.job.value(), " has no shim."));
  }
  if (shim->end_sent) {
    return absl::FailedPreconditionError(
        absl::StrCat("The shim of job ", start.id.job.value(), " is shutting down."));
  }
  if (shim->newest && start.id.generation <= shim->newest->id.generation) return absl::OkStatus();
  if (shim->newest && shim->newest->state != GenerationReport::State::kEnded) {
    return absl::FailedPreconditionError(absl::StrCat("Generation ", shim->newest->id.generation,
                                                      " of job ", start.id.job.value(),
                                                      " has not ended."));
  }
  if (start.serves_store && !store_socket.valid()) {
    return absl::InvalidArgumentError("A start that serves the store needs its socket.");
  }
  StartCommand filled = start;
  if (filled.cgroup.empty()) filled.cgroup = options_.cgroups.PathFor(start.id);
  if (filled.memory_cgroup.empty()) filled.memory_cgroup = options_.cgroups.MemoryPathFor(start.id);
  if (!options_.spill_dir.empty()) {
    filled.spill_dir = logs::GenerationLogDir(
        logs::JobLogDir(options_.spill_dir, start.id.job.value()), start.id.generation);
  }
  const std::string payload = EncodeCommand(filled);
  if (payload.size() > kMaxPayloadBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("The start of job ", start.id.job.value(), " takes ", payload.size(),
                     " bytes, the limit is ", kMaxPayloadBytes,
                     ": its environment and arguments are too large."));
  }
  shim->newest = FirstReport(start);
  shim->stop_grace.reset();
  shim->watchdog.Disarm();
  shim->orphan_grace = start.orphan_grace;
  shim->cgroup_path = filled.cgroup;
  shim->memory_cgroup_path = filled.memory_cgroup;
  shim->channel.Send(FrameType::kStart, payload, std::move(store_socket));
  WatchChannel(shim);
  return absl::OkStatus();
}

absl::Status PosixShimHost::StopGeneration(const StopCommand& stop) {
  Shim* shim = FindRunning(stop.id.job);
  if (shim == nullptr) {
    return absl::NotFoundError(absl::StrCat("Job ", stop.id.job.value(), " has no shim."));
  }
  if (!shim->newest || shim->newest->id != stop.id) return absl::OkStatus();
  // Repeated stops are not sent again, so they do not pile up in the channel of a shim
  // that does not read.
  if (shim->stop_grace && *shim->stop_grace <= stop.grace) return absl::OkStatus();
  shim->stop_grace = stop.grace;
  shim->watchdog.StopSent(common::SteadyClock()->Now(), stop.grace);
  ArmWatchdogTimer();
  shim->channel.Send(FrameType::kStop, EncodeCommand(stop));
  WatchChannel(shim);
  return absl::OkStatus();
}

void PosixShimHost::EndShim(const common::JobId& job) {
  Shim* shim = FindRunning(job);
  if (shim == nullptr || shim->end_sent) return;
  shim->end_sent = true;
  shim->watchdog.ExitSent(common::SteadyClock()->Now());
  ArmWatchdogTimer();
  shim->channel.Send(FrameType::kEnd, EncodeCommand(EndCommand()));
  WatchChannel(shim);
}

void PosixShimHost::OnChannel(Shim* shim) {
  std::vector<Frame> frames;
  shim->channel.Flush();
  absl::Status status = shim->channel.Receive(&frames);
  for (const Frame& frame : frames) {
    auto report = DecodeReport(frame.type, frame.payload);
    if (!report.ok()) {
      status = report.status();
      break;
    }
    // A report of an earlier generation.
    if (!shim->newest || report->id != shim->newest->id) continue;
    shim->newest = *std::move(report);
    shim->changed = true;
    const bool ended = shim->newest->state == GenerationReport::State::kEnded;
    ended ? shim->watchdog.Disarm() : shim->watchdog.ReportReceived(common::SteadyClock()->Now());
  }
  ArmWatchdogTimer();
  if (status.ok()) return WatchChannel(shim);
  loop_.Unwatch(shim->channel.fd());
  if (absl::IsUnavailable(status)) {
    // The pidfd reports the exit. Without pidfd support in the kernel, the end-of-file does,
    // because a shim closes the socket only by exiting.
    if (!shim->pidfd.valid()) OnExit(shim);
    return;
  }
  common::LogError("A shim sent an invalid frame", {{"pid", shim->pid}, {"why", status.message()}});
  if (shim->phase == Shim::Phase::kRunning) kill(shim->pid, SIGKILL);
}

void PosixShimHost::CheckWatchdogs() {
  ClearTimer(watchdog_timer_);
  for (auto& [job, shim] : shims_) {
    if (shim->phase != Shim::Phase::kRunning) continue;
    const ShimWatchdog::Step step = shim->watchdog.Due(common::SteadyClock()->Now());
    if (step == ShimWatchdog::Step::kSendAgain) {
      const StopCommand again = {shim->newest->id, absl::ZeroDuration()};
      shim->channel.Send(FrameType::kStop, EncodeCommand(again));
      WatchChannel(shim.get());
    } else if (step == ShimWatchdog::Step::kKill) {
      common::LogError("Killing a shim that does not respond",
                       {{"job", job.value()}, {"pid", shim->pid}});
      shim->unresponsive = true;
      kill(shim->pid, SIGKILL);
    }
  }
  ArmWatchdogTimer();
}

void PosixShimHost::ArmWatchdogTimer() {
  absl::Time wake_at = absl::InfiniteFuture();
  for (const auto& [job, shim] : shims_) {
    if (shim->phase == Shim::Phase::kRunning) wake_at = std::min(wake_at, shim->watchdog.wake_at());
  }
  if (wake_at != absl::InfiniteFuture()) {
    Arm(watchdog_timer_, wake_at - common::SteadyClock()->Now());
  }
}

bool PosixShimHost::IsRunningShim(pid_t pid) const {
  return std::any_of(shims_.begin(), shims_.end(), [pid](const auto& entry) {
    return entry.second->pid == pid && entry.second->phase == Shim::Phase::kRunning;
  });
}

void PosixShimHost::OnExit(Shim* shim) {
  int status = 0;
  const int wait = shim->pidfd.valid() ? WNOHANG : 0;
  if (shim->phase != Shim::Phase::kRunning || waitpid(shim->pid, &status, wait) <= 0) return;
  shim->phase = Shim::Phase::kLeftovers;
  loop_.Unwatch(shim->pidfd.get());
  OnChannel(shim);  // Takes the shim's last reports.
  loop_.Unwatch(shim->channel.fd());
  shim->end = Ending(status, shim->unresponsive);
  sweep_pause_ = kFirstSweepPause;
  SweepLeftovers();
}

void PosixShimHost::SweepLeftovers() {
  ClearTimer(sweep_timer_);
  bool any_left = false;
  for (auto& [job, shim] : shims_) {
    if (shim->phase != Shim::Phase::kLeftovers) continue;
    const bool none_left = EndLeftovers(shim.get());
    if (none_left) Finish(shim.get());
    any_left |= !none_left;
  }
  if (!any_left) return;
  Arm(sweep_timer_, sweep_pause_);
  sweep_pause_ = std::min(sweep_pause_ * 2, kLongestSweepPause);
}

bool PosixShimHost::EndLeftovers(Shim* shim) {
  // A shim that reported the end of its generation has left no process.
  if (!shim->newest || shim->newest->state == GenerationReport::State::kEnded) return true;
  process::Cgroup cgroup = process::Cgroup::Make(shim->cgroup_path);
  process::Cgroup memory_cgroup = process::Cgroup::Make(shim->memory_cgroup_path);
  cgroup.Kill();
  const bool none_left = process::EndOrphans([this](pid_t pid) { return IsRunningShim(pid); });
  return none_left && cgroup.Remove() && memory_cgroup.Remove();
}

void PosixShimHost::Finish(Shim* shim) {
  shim->phase = Shim::Phase::kGone;
  shim->changed = true;
  if (!shim->newest || shim->newest->state == GenerationReport::State::kEnded) return;
  shim->newest->state = GenerationReport::State::kEnded;
  if (!shim->newest->failure) shim->newest->failure = ShimDied(shim->end);
  for (WorkerReport& worker : shim->newest->workers) {
    if (!worker.exit) worker.exit = ShimDied(shim->end);
  }
}

std::vector<ShimReport> PosixShimHost::TakeReports() {
  loop_.RunOnce(absl::ZeroDuration());
  std::vector<ShimReport> reports;
  for (auto entry = shims_.begin(); entry != shims_.end();) {
    Shim& shim = *entry->second;
    const bool gone = shim.phase == Shim::Phase::kGone;
    if (std::exchange(shim.changed, false)) reports.push_back({entry->first, shim.newest, gone});
    entry = gone ? shims_.erase(entry) : std::next(entry);
  }
  return reports;
}

PosixShimHost::~PosixShimHost() {
  absl::Duration grace;
  for (auto& [job, shim] : shims_) {
    if (shim->phase != Shim::Phase::kRunning) continue;
    loop_.Unwatch(shim->channel.fd());
    shutdown(shim->channel.fd(), SHUT_RDWR);
    grace = std::max(grace, shim->orphan_grace);
  }
  AwaitShims(grace + kEndSlack);
  for (auto& [job, shim] : shims_) {
    if (shim->phase == Shim::Phase::kRunning) kill(shim->pid, SIGKILL);
  }
  AwaitShims(kEndSlack);
}

void PosixShimHost::AwaitShims(absl::Duration at_most) {
  const absl::Time until = common::SteadyClock()->Now() + at_most;
  const auto all_gone = [this] {
    return std::all_of(shims_.begin(), shims_.end(),
                       [](const auto& entry) { return entry.second->phase == Shim::Phase::kGone; });
  };
  while (!all_gone() && common::SteadyClock()->Now() < until)
    loop_.RunOnce(until - common::SteadyClock()->Now());
}

}  // namespace accel::shim
