// How a host takes over the shims that an earlier one has left. The rest of the class is in
// posix_shim_host.cc.
//
// The problem: the agent was killed, while its shims and their workers continue. The next agent
// must find each shim, learn exactly what happened meanwhile, and be able to stop it. The agent
// must not report to the coordinator before that, because a generation that a report does not list
// counts as lost.
//
// For each job, the table shows what the agent may find, and what it then does:
//
// clang-format off
//   record     socket      process   then
//   ---------  ----------  --------  ------------------------------------------------------------
//   any        connects    runs      the hello and the whole report contain everything
//   any        connects    stopped   the generation of the record runs, until the shim answers
//   any        connects    runs      has another version: left alone, until it must be stopped
//   this boot  refuses     runs      cannot be reached: the same
//   this boot  refuses     gone      its result has all ends; without one, it died: its processes
//                                    are ended, and the ends of its workers are not known
//   intent     refuses     gone      it was never started: nothing to do
//   start      refuses     gone      it never received the start of its generation: the same
//   old boot   refuses     -         everything has ended: nothing to do
// clang-format on
//
// A shim is never killed only because it cannot be reached. If its generation must be stopped,
// the agent sends SIGTERM, which shims of every version obey. If the shim does not end then,
// it gets SIGKILL.

#include <utility>

#include "common/clock.h"
#include "common/log.h"
#include "process/pidfd.h"
#include "process/process_table.h"
#include "shim/host/posix_shim_host.h"
#include "shim/host/timer.h"

namespace accel::shim {
namespace {

// The pause between two attempts to connect to a shim that runs but accepts no connection.
constexpr absl::Duration kReconnectPause = absl::Seconds(1);
constexpr char kDiedAlone[] = "accel-shim ended while there was no agent.";

}  // namespace

std::vector<ShimReport> PosixShimHost::Adopt() {
  if (options_.shims_dir.empty()) return {};
  for (FoundShim& found : FindShims(options_.shims_dir, options_.boot_id)) {
    AdoptOne(std::move(found));
  }
  const auto waits = [this] {
    for (const auto& [job, shim] : shims_) {
      const bool sweeps = shim->phase == HostedShim::Phase::kLeftovers;
      if (sweeps || shim->awaits_hello || shim->awaits_report) return true;
    }
    return false;
  };
  const absl::Time until = common::SteadyClock()->Now() + options_.adoption_timeout;
  while (waits() && common::SteadyClock()->Now() < until) {
    loop_.RunOnce(until - common::SteadyClock()->Now());
  }
  for (auto& [job, shim] : shims_) {
    GiveUpWaiting(shim.get());
    shim->taken_over = true;
    shim->changed = true;  // Makes TakeReports() below report it.
    common::LogInfo("adopted a shim",
                    {{"job", job.value()},
                     {"pid", shim->record.pid},
                     {"generation", shim->newest ? shim->newest->id.generation : 0},
                     {"alive", shim->phase == HostedShim::Phase::kRunning}});
  }
  return TakeReports();
}

void PosixShimHost::AdoptOne(FoundShim found) {
  auto shim = std::make_unique<HostedShim>(found.job, options_.shim_slack);
  shim->folder = std::move(found.folder);
  shim->record = std::move(found.record);
  if (shim->record.uid != 0) {
    shim->watchdog.LimitAnswers();
    shim->user = process::Account{.name = "",
                                  .uid = shim->record.uid,
                                  .gid = shim->record.gid,
                                  .groups = {shim->record.gid},
                                  .home = "",
                                  .shell = ""};
  }
  shim->is_child = false;
  shim->taken_over = false;
  if (shim->record.generation > 0) {
    shim->newest = ReportFrom(found.job, shim->record);
    shim->newest->state = GenerationReport::State::kRunning;
  }
  HostedShim* const adopted = shim.get();
  shims_.emplace(found.job, std::move(shim));
  if (found.alive) {
    adopted->pidfd = process::OpenProcess(adopted->record.pid, adopted->record.start_time_ticks);
    WatchProcess(adopted);
    if (found.connection.valid()) Connect(adopted, std::move(found.connection));
    adopted->awaits_hello = true;
    if (adopted->channel == nullptr) ArmTimer(reconnect_timer_, absl::ZeroDuration());
    return;
  }
  adopted->phase = HostedShim::Phase::kLeftovers;
  adopted->end = kDiedAlone;
  SweepLeftovers();
}

void PosixShimHost::GiveUpWaiting(HostedShim* shim) {
  if (!shim->awaits_hello && !shim->awaits_report) return;
  common::LogWarning("a shim does not answer; its job is left alone",
                     {{"job", shim->job.value()}, {"pid", shim->record.pid}});
  shim->awaits_hello = shim->awaits_report = false;
}

void PosixShimHost::Take(const ShimHello& hello, HostedShim* shim) {
  shim->awaits_hello = false;
  if (!hello.job.empty() && hello.job != shim->job) {
    common::LogError("a shim answers for another job",
                     {{"job", shim->job.value()}, {"answers_for", hello.job.value()}});
    shim->not_understood = true;
    return CloseChannel(shim);
  }
  if (!MayBe(*shim, hello)) {
    common::LogError("a shim names a process or a generation that is not its own",
                     {{"job", shim->job.value()}, {"names", hello.pid}});
    shim->not_understood = true;
    return CloseChannel(shim);
  }
  if (shim->record.pid != hello.pid) {
    // The earlier agent was killed before it could record the process.
    shim->record.pid = static_cast<pid_t>(hello.pid);
    shim->record.start_time_ticks = hello.start_time_ticks;
    shim->record.boot_id = options_.boot_id;
    if (shim->folder) shim->folder->WriteRecord(shim->record).IgnoreError();
    shim->pidfd = process::OpenProcess(shim->record.pid, shim->record.start_time_ticks);
    WatchProcess(shim);
  }
  if (shim->is_child) return;
  const int known = shim->newest ? shim->newest->id.generation : 0;
  shim->awaits_report = hello.generation > 0;
  if (hello.generation == known) return;
  if (hello.generation < known && shim->taken_over) {
    // The shim did not answer in time, so the agent already reports the generation. It must end it,
    // because the shim never received its start.
    shim->newest->state = GenerationReport::State::kEnded;
    shim->newest->failure = ExitFact{.kind = ExitFact::Kind::kNotStarted, .code = 1};
    shim->newest->failure->message = "The agent was killed before its shim received the start.";
    shim->changed = true;
    shim->awaits_report = false;
    return;
  }
  shim->newest.reset();
  if (hello.generation == 0) return;
  shim->newest.emplace();
  shim->newest->id = {shim->job, hello.generation};
}

// This host sends signals to the process that a shim names. A user must therefore not be able to
// name a process of another user.
bool PosixShimHost::MayBe(const HostedShim& shim, const ShimHello& hello) {
  if (shim.record.uid == 0) return true;
  // The record of a generation is written before its start is sent.
  if (hello.generation > shim.record.generation) return false;
  if (shim.record.pid != 0) return hello.pid == shim.record.pid;
  const auto entry = process::ReadProcess(static_cast<pid_t>(hello.pid));
  return entry && entry->start_time_ticks == hello.start_time_ticks &&
         process::UserOf(entry->pid) == shim.record.uid;
}

void PosixShimHost::Reconnect() {
  ClearTimer(reconnect_timer_);
  bool any = false;
  for (auto& [job, shim] : shims_) {
    if (shim->phase != HostedShim::Phase::kRunning || shim->channel != nullptr) continue;
    if (!shim->folder || shim->not_understood) continue;
    absl::StatusOr<common::UniqueFd> socket = shim->folder->Connect();
    if (socket.ok()) {
      Connect(shim.get(), *std::move(socket));
    } else if (absl::IsNotFound(socket.status()) && shim->IsGone()) {
      OnExit(shim.get());
    } else {
      any = true;
    }
  }
  if (any) ArmTimer(reconnect_timer_, kReconnectPause);
}

}  // namespace accel::shim
