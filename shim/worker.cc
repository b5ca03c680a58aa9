#include "shim/worker.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "logs/core/tail_lines.h"
#include "logs/log_paths.h"
#include "process/process_table.h"
#include "process/program_path.h"
#include "process/spawn.h"
#include "shim/start_checks.h"
#include "shim/worker_reports.h"

namespace accel::shim {
namespace {

// Maximum number of bytes of one stream in one turn of the loop, so that a flood leaves time
// for all other work.
constexpr size_t kDrainPerTurn = 256 << 10;

ExitFact WhyNotSpawned(const process::SpawnError& error, const std::string& path,
                       const std::string& workdir) {
  const char* reason = strerror(error.error);
  switch (error.step) {
    case process::SpawnError::Step::kFork:
    // A worker has the user and the /dev/shm of its shim.
    case process::SpawnError::Step::kUser:
    case process::SpawnError::Step::kSharedMemory:
    case process::SpawnError::Step::kTimeout:
      return NotStarted(1, absl::StrCat("Cannot make a process for ", path, ": ", reason, "."));
    case process::SpawnError::Step::kDescriptors:
    case process::SpawnError::Step::kTerminal:
      return NotStarted(
          1, absl::StrCat("Cannot set up the input and output of ", path, ": ", reason, "."));
    case process::SpawnError::Step::kWorkdir:
      return NotStarted(
          PathErrorCode(error.error),
          absl::StrCat("Cannot enter the working directory ", workdir, ": ", reason, "."));
    case process::SpawnError::Step::kExec:
      break;
  }
  // The file existed and was executable a moment ago, so ENOENT is about its interpreter.
  if (error.error == ENOENT) {
    return NotStarted(process::kNotExecutableCode,
                      absl::StrCat("Cannot execute ", path,
                                   ": the interpreter that it names does not exist on this node."));
  }
  return NotStarted(process::kNotExecutableCode,
                    absl::StrCat("Cannot execute ", path, ": ", reason, "."));
}

}  // namespace

ExitFact ExitFactOf(int wait_status) {
  ExitFact fact;
  if (WIFEXITED(wait_status)) {
    fact.kind = ExitFact::Kind::kExited;
    fact.code = WEXITSTATUS(wait_status);
  } else {
    fact.kind = ExitFact::Kind::kSignalled;
    fact.signal = WTERMSIG(wait_status);
    fact.core_dumped = WCOREDUMP(wait_status);
  }
  return fact;
}

Worker::Worker(const WorkerStart& start, WorkerContext context)
    : start_(start),
      context_(context),
      stdout_(context.output, *context.start, start.rank, logs::LogStream::kStdout),
      stderr_(context.output, *context.start, start.rank, logs::LogStream::kStderr) {
  report_.rank = start.rank;
  report_.local_rank = start.local_rank;
}

std::optional<ExitFact> Worker::OpenOutput(OutputPipe* pipe, common::UniqueFd* worker_end) {
  auto end = pipe->Open();
  if (!end.ok()) return NotStarted(1, absl::StrCat(end.status().message(), "."));
  *worker_end = std::move(*end);
  return std::nullopt;
}

std::optional<ExitFact> Worker::Start(const std::string& path) {
  common::UniqueFd out, err;
  if (auto failure = OpenOutput(&stdout_, &out)) return failure;
  if (auto failure = OpenOutput(&stderr_, &err)) return failure;
  process::SpawnOptions options;
  options.path = path;
  options.argv = context_.start->argv;
  options.env = start_.env;
  options.env.push_back(absl::StrCat(logs::kErrorFileVariable, "=",
                                     logs::WorkerErrorFile(context_.start->log_dir, start_.rank)));
  options.workdir = context_.start->workdir;
  options.fds = {{context_.stdin_fd, 0}, {out.get(), 1}, {err.get(), 2}};
  if (context_.reports_fd >= 0) {
    options.fds.push_back({context_.reports_fd, kReportTarget});
    options.env.insert(options.env.end(), context_.reports_variables.begin(),
                       context_.reports_variables.end());
  }
  options.cgroup_fd = context_.groups->born_in();
  options.entered_groups = context_.groups->entered();
  options.terminal_fd = context_.terminal_fd;
  options.open_files = context_.inherited.open_files;
  const process::SpawnResult spawned =
      process::Spawn(options, context_.inherited.keep_hangup_ignored);
  if (!spawned.ok()) return WhyNotSpawned(spawned.error, path, options.workdir);
  report_.pid = spawned.pid;
  // The child has not been reaped yet, so it has an entry, even if it is a zombie.
  if (const auto entry = process::ReadProcess(spawned.pid)) {
    report_.start_time_ticks = entry->start_time_ticks;
  }
  Watch(&stdout_);
  Watch(&stderr_);
  return std::nullopt;
}

Worker::~Worker() {
  for (OutputPipe* pipe : {&stdout_, &stderr_}) {
    if (pipe->fd() >= 0) context_.loop->Unwatch(pipe->fd());
    pipe->Close();
  }
}

void Worker::Watch(OutputPipe* pipe) {
  context_.loop->Watch(pipe->fd(), EPOLLIN, [this, pipe] { OnOutput(pipe); });
}

void Worker::OnOutput(OutputPipe* pipe) {
  size_t most = kDrainPerTurn;
  const OutputPipe::Progress progress = pipe->Drain(&most);
  if (progress != OutputPipe::Progress::kEnd && progress != OutputPipe::Progress::kNoRoom) return;
  context_.loop->Unwatch(pipe->fd());
  if (progress == OutputPipe::Progress::kEnd) return pipe->Close();
  waiting_.push_back(pipe);
}

bool Worker::Tick() {
  if (!waiting_.empty() && context_.output->room() != logs::OutputWriter::Room::kWait) {
    for (OutputPipe* pipe : std::exchange(waiting_, {})) {
      if (pipe->fd() >= 0) Watch(pipe);
    }
  }
  if (!ended_.has_value() || report_.exit.has_value()) return false;
  // The end is reported only once the worker's output is on disk, or the disk hangs. A child that
  // still writes does not delay it.
  const bool out_settled = stdout_.Settle();
  if (!stderr_.Settle() || !out_settled) return false;
  report_.exit = ended_;
  if (!ended_->ok()) QuoteLastLines();
  return true;
}

void Worker::QuoteLastLines() {
  report_.last_lines = logs::LastLinesOf(stderr_.last_bytes());
  if (report_.last_lines.empty()) report_.last_lines = logs::LastLinesOf(stdout_.last_bytes());
}

void Worker::Signal(int signal) const {
  if (running()) kill(-pid(), signal);
}

void Worker::FoundHanging(const ExitFact& fact, absl::Time since) {
  if (report_.exit.has_value()) return;
  report_.exit = fact;
  report_.ended_at = since;
  QuoteLastLines();
}

void Worker::Reaped(const ExitFact& exit, absl::Time now) {
  if (!report_.exit.has_value()) report_.ended_at = now;
  ended_ = exit;
}

bool Worker::FinishOutput() {
  bool finished = true;
  for (OutputPipe* pipe : {&stdout_, &stderr_}) {
    if (pipe->fd() >= 0) context_.loop->Unwatch(pipe->fd());
    finished &= pipe->Finish();
  }
  return finished && !running() && report_.exit.has_value();
}

}  // namespace accel::shim
