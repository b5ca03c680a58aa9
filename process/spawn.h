// Starts one process without copying this one: vfork semantics by clone3 where the kernel has it,
// so the cost does not grow with the caller's memory, and several threads in the caller do no harm.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace accel::process {

// The child's descriptor `target` is the caller's `source`.
struct SpawnFd {
  int source = -1;
  int target = -1;
};

struct SpawnOptions {
  std::string path;  // The file to execute, as execve takes it; relative ones start in `workdir`.
  std::vector<std::string> argv;
  std::vector<std::string> env;  // Complete, as NAME=VALUE.
  std::string workdir;           // Empty: the caller's.
  // Dense from 0: the child has these and nothing else, whatever the caller holds open.
  std::vector<SpawnFd> fds;
  int cgroup_fd = -1;    // A folder of cgroup v2 to start in; where that fails, it starts outside.
  int terminal_fd = -1;  // The child's process group becomes the foreground group of this terminal.
  std::optional<rlimit> open_files;  // The child's RLIMIT_NOFILE; none: the caller's.
};

// What failed on the way to the program, and the system's reason.
struct SpawnError {
  enum class Step { kFork, kDescriptors, kWorkdir, kTerminal, kExec };
  Step step = Step::kFork;
  int error = 0;  // errno
};

struct SpawnResult {
  pid_t pid = 0;           // 0: nothing runs; `error` says why.
  bool in_cgroup = false;  // It was born in the folder `cgroup_fd`.
  SpawnError error;

  bool ok() const { return error.error == 0; }
};

// The child leads a process group of its own, with every signal unblocked and at its default, but
// an ignored SIGHUP stays ignored if `keep_hangup_ignored` (nohup). Returns once the program has
// been executed, or with the exact reason why not; then no process is left. Thread-safe.
SpawnResult Spawn(const SpawnOptions& options, bool keep_hangup_ignored);

}  // namespace accel::process
