// How a generation is started and, above all, how it is ended.
//
// The problem: when a generation has ended, no process of it may be left (invariant 7), because the
// next generation needs its GPUs and its ports. But workers start whatever they like: data loaders,
// shells, daemons. A process may leave its group (setsid), lose its parent (double fork), ignore
// SIGTERM, be stopped, or fork faster than it is killed.
//
// The obvious approaches fail:
// - Killing each worker's process group misses every process that has left the group.
// - A control group and cgroup.kill need rights that a container often lacks.
// - A list of pids goes stale: a pid may belong to another program by the time it is killed.
//
// The approach: the shim is a subreaper, so a process that loses its parent becomes the shim's own
// child. waitpid() therefore fails with ECHILD exactly when no descendant is left, and only this
// proof ends a generation (docs/decisions/0008). Until then the shim sweeps: it stops all
// descendants, so that none can fork, and kills them (process/sweep.h). A control group, if there
// is one, only makes this faster, and also catches processes that are not descendants.
//
// clang-format off
//   state      caused by                            what is done
//   ---------  -----------------------------------  --------------------------------------------
//   kStarting  Start()                              checks, log folders, store; spawns workers
//   kRunning   every worker has executed            collects output
//   kStopping  Stop(), with a grace                 SIGTERM and SIGCONT to each worker's group
//              or the last worker has ended         nothing is left to wait for: no grace
//              or a worker could not start          kills those that were started: no grace
//              then, when the grace is over         KillAll(), repeated until ECHILD
//   kEnded     NoChildLeft()                        control groups removed, output on disk
// clang-format on
//
// Example: rank 0 exits with 1 while its detached child, which ignores SIGTERM, holds a GPU. Rank 1
// still waits for rank 0. The coordinator asks for a stop with a grace of 30 s. Rank 1 ends on
// SIGTERM. Now no worker is left, so the remaining grace is dropped: the sweep kills the child,
// waitpid() reaps it and then fails with ECHILD, and the report says kEnded. Had rank 1 ignored
// SIGTERM too, the sweep would have killed both after 30 s.
//
// Two facts in the report need care:
// - A worker's exit is reported only once its output is on disk, because a reader that knows the
//   exit code expects the last lines (worker.cc). A disk that hangs is not waited for.
// - The kernel does not say which process an out-of-memory kill hit. Each counted kill therefore
//   explains one SIGKILL, unless this shim itself has started killing (GenerationGroups).

#include "shim/generation_processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/descriptors.h"
#include "common/worker_env.h"
#include "process/process_table.h"
#include "process/program_path.h"
#include "process/sweep.h"
#include "shim/hang_report.h"
#include "shim/start_checks.h"

namespace accel::shim {
namespace {

// The pause between two sweeps, while killed processes have not died yet. It doubles
// up to the longest.
constexpr absl::Duration kFirstSweepPause = absl::Milliseconds(5);
constexpr absl::Duration kLongestSweepPause = absl::Milliseconds(500);

// Minimum time between two reports that only a checkpoint has caused, because a program may save
// after each step.
constexpr absl::Duration kCheckpointsEvery = absl::Milliseconds(100);

// Maximum number of processes whose threads are recorded in a hang, because reading them takes time
// in which this process does nothing else.
constexpr int kMostHangRecords = 16;

constexpr absl::string_view kPathName = "PATH";

}  // namespace

GenerationProcesses::GenerationProcesses(StartCommand start, EventLoop* loop,
                                         logs::OutputWriter* output, Inherited inherited)
    : start_(std::move(start)),
      loop_(loop),
      output_(output),
      inherited_(inherited),
      null_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      sweep_pause_(kFirstSweepPause) {}

void GenerationProcesses::Start(common::UniqueFd store_socket, const StoreStarter& start_store,
                                std::optional<ExitFact> obstacle, absl::Time now) {
  groups_.Make(start_);
  WorkerContext context;
  context.start = &start_;
  context.loop = loop_;
  context.output = output_;
  context.groups = &groups_;
  context.stdin_fd = null_.get();
  context.inherited = inherited_;
  OpenReports(now, &context);
  if (start_.keep_stdin) {
    context.terminal_fd = terminal_.Borrow();
    // Without the terminal's foreground, a worker that reads from it would be stopped
    // and never continued.
    if (terminal_.lent() || !isatty(STDIN_FILENO)) context.stdin_fd = STDIN_FILENO;
  }
  for (const WorkerStart& worker : start_.workers) {
    workers_.push_back(std::make_unique<Worker>(worker, context));
  }
  std::optional<ExitFact> failure = std::move(obstacle);
  if (!failure) failure = FindTooManyFiles(start_, common::DescriptorLimit());
  if (!failure) failure = FindMissingPath(start_);
  if (!failure) failure = MakeLogDirs(start_);
  if (!failure) failure = StartStore(std::move(store_socket), start_store);
  if (!failure) failure = StartWorkers();
  if (failure) return Fail(*failure, now);
  life_.ExecDone();
  life_.RequireContact(now, start_.stop_on_disconnect_after);
}

void GenerationProcesses::OpenReports(absl::Time now, WorkerContext* context) {
  const bool finds_hangs = start_.hang_timeout > absl::ZeroDuration();
  if (!start_.report_checkpoints && !finds_hangs) return;
  const auto beat = [this](int rank) {
    if (progress_) progress_->Beat(rank, common::SteadyClock()->Now());
  };
  const auto wait = [this](int rank) {
    if (progress_) progress_->Waits(rank);
  };
  const auto pause = [this](int rank) {
    if (progress_) progress_->Pauses(rank);
  };
  reports_.emplace(loop_, WorkerReports::Listener{.beat = beat, .wait = wait, .pause = pause});
  context->reports_fd = reports_->worker_end();
  const auto tell = [this, context](const char* name) {
    context->reports_variables.push_back(absl::StrCat(name, "=", reports_->address()));
  };
  if (start_.report_checkpoints) tell(common::kEnvAccelReportSocket);
  if (!finds_hangs) return;
  tell(common::kEnvAccelBeatSocket);
  std::vector<int> ranks;
  for (const WorkerStart& worker : start_.workers) ranks.push_back(worker.rank);
  progress_.emplace(start_.hang_timeout, ranks, now);
}

std::optional<ExitFact> GenerationProcesses::StartStore(common::UniqueFd socket,
                                                        const StoreStarter& start_store) {
  if (!start_.serves_store) return std::nullopt;
  if (!start_store) return NotStarted(1, "This accel-shim was built without a rendezvous store.");
  // The store's connections may not take the descriptors that the workers' output needs, because
  // any peer may open connections.
  const uint64_t max_connections = common::DescriptorLimit() - FilesForOutput(start_);
  auto store = start_store(std::move(socket), start_.store_peers, max_connections);
  if (!store.ok()) {
    return NotStarted(
        1, absl::StrCat("Cannot serve the rendezvous store: ", store.status().message()));
  }
  store_ = std::move(*store);
  return std::nullopt;
}

std::optional<ExitFact> GenerationProcesses::StartWorkers() {
  // By the worker's PATH. All workers usually have the same one, so the program is searched once.
  std::map<std::string, process::ProgramPath> found;
  for (size_t i = 0; i < workers_.size(); ++i) {
    const std::vector<std::string>& env = start_.workers[i].env;
    const char* path = process::FindEnv(env, kPathName);
    auto program = found.find(path == nullptr ? "" : path);
    if (program == found.end()) {
      program = found
                    .emplace(path == nullptr ? "" : path,
                             process::FindProgram(start_.argv[0], start_.workdir, env))
                    .first;
    }
    std::optional<ExitFact> failure;
    if (program->second.code != 0) {
      failure = NotStarted(program->second.code, program->second.why);
    } else {
      failure = workers_[i]->Start(program->second.path);
    }
    if (!failure) continue;
    // 1 is a failure of the node, such as that no process could be made.
    if (failure->code == 1) groups_.Explain(&*failure);
    return failure;
  }
  return std::nullopt;
}

void GenerationProcesses::Fail(const ExitFact& why, absl::Time now) {
  failure_ = why;
  // Only the first worker that does not run carries the message, so that a report of many workers
  // remains small.
  ExitFact fact = why;
  for (auto& worker : workers_) {
    if (worker->running()) continue;
    worker->NeverStarted(fact, now);
    fact.message.clear();
  }
  terminal_.GiveBack();
  life_.StopAsked(now, absl::ZeroDuration());
}

void GenerationProcesses::Stop(absl::Time now, absl::Duration grace) {
  if (state() == GenerationLife::State::kEnded) return;
  changed_ = true;
  if (!life_.StopAsked(now, grace)) return;
  // The agent may have killed the group already (shim/host/posix_shim_host.cc), so what ends from
  // now on says nothing about the job.
  if (grace <= absl::ZeroDuration()) return KillAll(now);
  for (auto& worker : workers_) {
    worker->Signal(SIGTERM);
    worker->Signal(SIGCONT);  // A stopped process would otherwise never receive the SIGTERM.
  }
}

void GenerationProcesses::Abandon(absl::Time now, const std::string& why) {
  const bool runs =
      state() == GenerationLife::State::kStarting || state() == GenerationLife::State::kRunning;
  if (runs && !failure_) {
    failure_ = ExitFact{.kind = ExitFact::Kind::kAbandoned, .message = why};
  }
  Stop(now, start_.orphan_grace);
}

void GenerationProcesses::Reaped(pid_t pid, int wait_status, absl::Time now) {
  for (auto& worker : workers_) {
    if (!worker->running() || worker->pid() != pid) continue;
    ExitFact exit = ExitFactOf(wait_status);
    if (!killed_) groups_.Explain(&exit);
    worker->Reaped(exit, now);
    terminal_.GiveBack();
    changed_ |= worker->Tick();
    if (AllWorkersGone()) life_.WorkersGone(now);
    return;
  }
}

void GenerationProcesses::Stopped(pid_t pid, int signal) {
  // The terminal is lent to the worker, so Ctrl-Z reaches only the worker's group, and no shell
  // could continue it.
  if (signal == SIGTSTP && terminal_.lent()) kill(-pid, SIGCONT);
}

bool GenerationProcesses::AllWorkersGone() const {
  return std::none_of(workers_.begin(), workers_.end(),
                      [](const auto& worker) { return worker->running(); });
}

void GenerationProcesses::KillAll(absl::Time now) {
  killed_ = true;
  groups_.Kill();
  process::KillDescendants();
  sweep_at_ = now + sweep_pause_;
  sweep_pause_ = std::min(sweep_pause_ * 2, kLongestSweepPause);
}

void GenerationProcesses::Tick(absl::Time now) {
  if (now >= life_.fence_at()) {
    Abandon(now, absl::StrCat("there was no contact with the coordinator for ",
                              absl::FormatDuration(start_.stop_on_disconnect_after),
                              " (stop_on_disconnect_after)"));
  }
  if (now >= FindHangAt()) FindHang(now);
  if (now >= KillAt()) KillAll(now);
  if (CheckpointsAt() <= now) {
    checkpoints_ = reports_->checkpoints();
    next_checkpoints_ = now + kCheckpointsEvery;
    changed_ = true;
  }
  for (auto& worker : workers_) changed_ |= worker->Tick();
}

void GenerationProcesses::FindHang(absl::Time now) {
  reports_->ReadRest();  // A beat that has arrived is no silence.
  const auto worker_of = [this](int rank) {
    return std::find_if(workers_.begin(), workers_.end(),
                        [rank](const auto& worker) { return worker->report().rank == rank; });
  };
  const auto state_of = [&](int rank) -> char {
    const Worker& worker = **worker_of(rank);
    const auto entry = worker.running() ? process::ReadProcess(worker.pid()) : std::nullopt;
    return entry && !entry->zombie() ? entry->state : 0;
  };
  const std::optional<Hang> hang = progress_->Look(now, state_of);
  if (!hang) return;
  progress_.reset();
  const ExitFact fact = HungFact(*hang, now, absl::Now());
  const std::string why = absl::StrCat("rank ", hang->rank, " ", fact.message);
  Worker& hung = **worker_of(hang->rank);
  // The others are recorded too, because they may show for what they wait.
  hung.AddToOutput(HangRecord(why, hung.pid()));
  int records = 1;
  for (auto& worker : workers_) {
    if (worker.get() == &hung || !worker->running() || ++records > kMostHangRecords) continue;
    worker->AddToOutput(HangRecord(why, worker->pid()));
  }
  hung.FoundHanging(fact, hang->last_beat.value_or(now - hang->silence));
  changed_ = true;
}

absl::Time GenerationProcesses::FindHangAt() const {
  const bool looks = progress_.has_value() && state() == GenerationLife::State::kRunning;
  return looks ? progress_->look_at() : absl::InfiniteFuture();
}

absl::Time GenerationProcesses::KillAt() const {
  // A sweep would read the whole process table to find nothing.
  if (no_process_left_) return absl::InfiniteFuture();
  return killed_ ? sweep_at_ : life_.kill_at();
}

absl::Time GenerationProcesses::CheckpointsAt() const {
  const bool news = reports_.has_value() && reports_->checkpoints() != checkpoints_;
  return news ? next_checkpoints_ : absl::InfiniteFuture();
}

absl::Time GenerationProcesses::wake_at() const {
  if (state() == GenerationLife::State::kEnded) return absl::InfiniteFuture();
  return std::min({life_.fence_at(), FindHangAt(), KillAt(), CheckpointsAt()});
}

void GenerationProcesses::NoChildLeft() {
  if (state() != GenerationLife::State::kStopping) return;
  // A process that is still in the group is not a descendant (docs/decisions/0008).
  // KillAll() kills it as well.
  if (!groups_.Remove()) return;
  no_process_left_ = true;
  bool finished = true;
  for (auto& worker : workers_) {
    changed_ |= worker->Tick();
    finished &= worker->FinishOutput();
  }
  // The writer wakes the loop when it has made progress, and NoChildLeft() is called again.
  if (!finished) return;
  if (reports_.has_value()) reports_->ReadRest();
  life_.NothingLeft();
  changed_ = true;
}

GenerationReport GenerationProcesses::MakeReport() const {
  GenerationReport report;
  report.id = start_.id;
  report.state = state();
  for (const auto& worker : workers_) report.workers.push_back(worker->report());
  report.failure = failure_;
  report.log_dir = start_.log_dir;
  report.orphan_grace = start_.orphan_grace;
  if (reports_.has_value()) report.checkpoints = reports_->checkpoints();
  // Counted when something else is reported, for example that a rank has failed.
  if (store_ != nullptr) report.refused_peers = static_cast<int64_t>(store_->refused_peers());
  return report;
}

}  // namespace accel::shim
