#include "shim/generation_processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/descriptors.h"
#include "process/program_path.h"
#include "process/sweep.h"
#include "shim/start_checks.h"

namespace accel::shim {
namespace {

// Joining a v1 control group stops every fork on the machine for up to tens of milliseconds, so it
// waits until the start is over; only the counting of out-of-memory kills depends on it.
constexpr absl::Duration kJoinMemoryCgroupAfter = absl::Milliseconds(100);

// Between two sweeps, while processes that were killed have not died yet.
constexpr absl::Duration kFirstSweepPause = absl::Milliseconds(5);
constexpr absl::Duration kLongestSweepPause = absl::Milliseconds(500);

constexpr absl::string_view kPathName = "PATH";

}  // namespace

GenerationProcesses::GenerationProcesses(GenerationStart start, EventLoop* loop,
                                         logs::OutputWriter* output, Inherited inherited)
    : start_(std::move(start)),
      loop_(loop),
      output_(output),
      inherited_(inherited),
      null_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      sweep_pause_(kFirstSweepPause) {}

void GenerationProcesses::Start(common::UniqueFd store_socket, const StoreStarter& start_store,
                                absl::Time now) {
  cgroup_ = process::Cgroup::Make(start_.cgroup);
  WorkerContext context = {&start_, loop_, output_, cgroup_.fd(), null_.get(), -1, inherited_};
  if (start_.keep_stdin) {
    context.terminal_fd = terminal_.Borrow();
    // In the background of a terminal, to read from it would stop the worker for good.
    if (terminal_.lent() || !isatty(STDIN_FILENO)) context.stdin_fd = STDIN_FILENO;
  }
  for (const WorkerStart& worker : start_.workers) {
    workers_.push_back(std::make_unique<Worker>(worker, context));
  }
  std::optional<ExitFact> failure = FindTooManyFiles(start_, common::DescriptorLimit());
  if (!failure) failure = FindMissingPath(start_);
  if (!failure) failure = MakeLogDirs(start_);
  if (!failure) failure = StartStore(std::move(store_socket), start_store);
  if (!failure) failure = StartWorkers();
  if (failure) return Fail(*failure, now);
  life_.ExecDone();
  if (!start_.memory_cgroup.empty()) join_memory_cgroup_at_ = now + kJoinMemoryCgroupAfter;
}

std::optional<ExitFact> GenerationProcesses::StartStore(common::UniqueFd socket,
                                                        const StoreStarter& start_store) {
  if (!start_.serves_store) return std::nullopt;
  if (!start_store) return NotStarted(1, "This accel-shim was built without a rendezvous store.");
  // What the workers' output needs is not for strangers who connect.
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
  std::map<std::string, process::ProgramPath>
      found;  // By the worker's PATH; usually all have the same.
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
    if (failure) return failure;
  }
  return std::nullopt;
}

void GenerationProcesses::Fail(const ExitFact& why, absl::Time now) {
  failure_ = why;
  // The sentence is said once, by the lowest rank: a report of many workers stays small.
  ExitFact fact = why;
  for (auto& worker : workers_) {
    if (worker->running()) continue;
    worker->NeverStarted(fact);
    fact.message.clear();
  }
  terminal_.GiveBack();
  life_.StopAsked(now, absl::ZeroDuration());
}

void GenerationProcesses::Stop(absl::Time now, absl::Duration grace) {
  if (state() == GenerationLife::State::kEnded) return;
  changed_ = true;
  if (!life_.StopAsked(now, grace)) return;
  for (auto& worker : workers_) {
    worker->Signal(SIGTERM);
    worker->Signal(SIGCONT);  // Or those that are stopped would get it never.
  }
}

bool GenerationProcesses::TakeOutOfMemory(int wait_status) {
  // Each kill of the kernel's explains one SIGKILL, if it was not ours.
  if (killed_ || !WIFSIGNALED(wait_status) || WTERMSIG(wait_status) != SIGKILL) return false;
  if (cgroup_.OomKills() + memory_cgroup_.OomKills() <= out_of_memory_seen_) return false;
  ++out_of_memory_seen_;
  return true;
}

void GenerationProcesses::Reaped(pid_t pid, int wait_status, absl::Time now) {
  for (auto& worker : workers_) {
    if (!worker->running() || worker->pid() != pid) continue;
    worker->Reaped(wait_status, TakeOutOfMemory(wait_status));
    terminal_.GiveBack();
    changed_ |= worker->Tick();
    if (AllWorkersGone()) life_.WorkersGone(now);
    return;
  }
}

void GenerationProcesses::Stopped(pid_t pid, int signal) {
  // Ctrl-Z reaches the worker alone, since the terminal is lent to it; nobody could wake it again.
  if (signal == SIGTSTP && terminal_.lent()) kill(-pid, SIGCONT);
}

bool GenerationProcesses::AllWorkersGone() const {
  return std::none_of(workers_.begin(), workers_.end(),
                      [](const auto& worker) { return worker->running(); });
}

void GenerationProcesses::KillAll(absl::Time now) {
  killed_ = true;
  cgroup_.Kill();
  process::KillDescendants();
  sweep_at_ = now + sweep_pause_;
  sweep_pause_ = std::min(sweep_pause_ * 2, kLongestSweepPause);
}

void GenerationProcesses::Tick(absl::Time now) {
  if (now >= join_memory_cgroup_at_) {
    join_memory_cgroup_at_ = absl::InfiniteFuture();
    memory_cgroup_ = process::Cgroup::Make(start_.memory_cgroup);
    for (auto& worker : workers_) {
      if (worker->running()) memory_cgroup_.Add(worker->pid());
    }
    out_of_memory_seen_ = cgroup_.OomKills() + memory_cgroup_.OomKills();
  }
  if (now >= (killed_ ? sweep_at_ : life_.kill_at())) KillAll(now);
  for (auto& worker : workers_) changed_ |= worker->Tick();
}

absl::Time GenerationProcesses::wake_at() const {
  if (state() == GenerationLife::State::kEnded) return absl::InfiniteFuture();
  return std::min(join_memory_cgroup_at_, killed_ ? sweep_at_ : life_.kill_at());
}

void GenerationProcesses::NoChildLeft() {
  if (state() != GenerationLife::State::kStopping) return;
  // Whoever is still inside is no descendant of ours, and is killed as well.
  if (!cgroup_.Remove() || !memory_cgroup_.Remove()) return;
  bool finished = true;
  for (auto& worker : workers_) {
    changed_ |= worker->Tick();
    finished &= worker->FinishOutput();
  }
  if (!finished) return;  // The writer wakes the loop, and this is called again.
  join_memory_cgroup_at_ = absl::InfiniteFuture();
  life_.NothingLeft();
  changed_ = true;
}

GenerationReport GenerationProcesses::MakeReport() const {
  GenerationReport report;
  report.id = start_.id;
  report.state = state();
  for (const auto& worker : workers_) report.workers.push_back(worker->report());
  report.failure = failure_;
  return report;
}

}  // namespace accel::shim
