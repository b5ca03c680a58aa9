// One worker of a generation: its start, its output and its end.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "shim/core/messages.h"
#include "shim/event_loop.h"
#include "shim/generation_groups.h"
#include "shim/output_pipe.h"

namespace accel::shim {

// The settings of the caller that workers inherit, although the shim has changed them for itself.
struct Inherited {
  bool keep_hangup_ignored = false;  // SIGHUP was ignored when the shim started.
  std::optional<rlimit> open_files;  // RLIMIT_NOFILE. If unset, the shim's.
};

// The context that all workers of a generation share.
struct WorkerContext {
  const StartCommand* start = nullptr;
  EventLoop* loop = nullptr;
  logs::OutputWriter* output = nullptr;
  const GenerationGroups* groups = nullptr;
  int stdin_fd = -1;                           // The workers' standard input.
  int reports_fd = -1;                         // The workers' end of WorkerReports, or -1.
  std::vector<std::string> reports_variables;  // NAME=VALUE, which tell workers that end.
  int terminal_fd = -1;  // The terminal whose foreground the worker's group gets, or -1.
  Inherited inherited;
};

// Not thread-safe. One thread starts, signals and reaps workers.
class Worker {
 public:
  Worker(const WorkerStart& start, WorkerContext context);
  ~Worker();
  Worker(const Worker&) = delete;

  // Starts the program at `path`, which execve() gets unchanged. Returns nullopt, or the reason
  // of a failure.
  std::optional<ExitFact> Start(const std::string& path);

  bool running() const { return report_.pid > 0 && !ended_.has_value(); }
  pid_t pid() const { return static_cast<pid_t>(report_.pid); }

  // Sends `signal` to the worker's process group if the worker is running.
  void Signal(int signal) const;

  // Notes that the worker was reaped. The report gets the exit once the worker's output is on disk.
  void Reaped(const ExitFact& exit, absl::Time now);
  // Notes that the worker hangs, although it may still run. `since` is its last sign of progress.
  // Has no effect if its end is already in the report.
  void FoundHanging(const ExitFact& fact, absl::Time since);
  // Adds lines of the shim itself to what the worker has written to its standard error.
  void AddToOutput(absl::string_view lines) { stderr_.AddLines(lines); }
  // Notes that the worker could not be started.
  void NeverStarted(const ExitFact& why, absl::Time now) {
    report_.exit = why;
    report_.ended_at = now;
  }

  // Continues with output that waits for room in the writer. Returns true if the
  // report has changed.
  bool Tick();

  // Moves the rest of the output to the writer and closes the pipes. Called once no process is
  // left that could write. Must be called again until it returns true, because the output must
  // be on disk.
  bool FinishOutput();

  const WorkerReport& report() const { return report_; }

 private:
  std::optional<ExitFact> OpenOutput(OutputPipe* pipe, common::UniqueFd* worker_end);
  void Watch(OutputPipe* pipe);
  void OnOutput(OutputPipe* pipe);
  void QuoteLastLines();

  const WorkerStart& start_;
  const WorkerContext context_;
  OutputPipe stdout_;
  OutputPipe stderr_;
  // The pipes that wait for room in the writer. The loop does not watch them meanwhile.
  std::vector<OutputPipe*> waiting_;
  std::optional<ExitFact> ended_;  // Set once the worker has been reaped.
  WorkerReport report_;
};

// Returns the exit record for a wait status, without what only control groups know.
ExitFact ExitFactOf(int wait_status);

}  // namespace accel::shim
