// One worker of a generation: its start, its output, its end.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "shim/core/messages.h"
#include "shim/event_loop.h"
#include "shim/output_pipe.h"

namespace accel::shim {

// What workers find as the user had it, whatever the shim has changed for itself.
struct Inherited {
  bool keep_hangup_ignored = false;  // SIGHUP was ignored when the shim was started.
  std::optional<rlimit> open_files;  // None: as the shim has it.
};

// What all workers of a generation share.
struct WorkerContext {
  const GenerationStart* start = nullptr;
  EventLoop* loop = nullptr;
  logs::OutputWriter* output = nullptr;
  int cgroup_fd = -1;
  int stdin_fd = -1;     // What a worker reads from.
  int terminal_fd = -1;  // Whose foreground the worker's group is to have; -1: none.
  Inherited inherited;
};

// Not thread-safe; one thread starts, signals and reaps.
class Worker {
 public:
  Worker(const WorkerStart& start, WorkerContext context);
  ~Worker();
  Worker(const Worker&) = delete;

  // Starts the program at `path`, an execve path. The fact says exactly why it did not start.
  std::optional<ExitFact> Start(const std::string& path);

  bool running() const { return report_.pid > 0 && !ended_.has_value(); }
  pid_t pid() const { return static_cast<pid_t>(report_.pid); }

  // To its process group, while it runs.
  void Signal(int signal) const;

  // It has been reaped, with this wait status. The report says so once its output is on disk.
  void Reaped(int wait_status, bool out_of_memory);
  // It never ran.
  void NeverStarted(const ExitFact& why) { report_.exit = why; }

  // Goes on with its output where that had to wait. True if the report has changed.
  bool Tick();

  // No process is left that could write: takes in the rest of its output and closes it. True once
  // that is on disk; call it again until then.
  bool FinishOutput();

  const WorkerReport& report() const { return report_; }

 private:
  std::optional<ExitFact> OpenOutput(OutputPipe* pipe, common::UniqueFd* worker_end);
  void Watch(OutputPipe* pipe);
  void OnOutput(OutputPipe* pipe);

  const WorkerStart& start_;
  const WorkerContext context_;
  OutputPipe stdout_;
  OutputPipe stderr_;
  std::vector<OutputPipe*> waiting_;  // For room in the writer; not watched meanwhile.
  std::optional<ExitFact> ended_;     // Once it has been reaped.
  WorkerReport report_;
};

// The exit record of a wait status, without what only control groups know.
ExitFact ExitFactOf(int wait_status);

}  // namespace accel::shim
