// Starts a process without copying the caller. The child shares the caller's memory until exec, as
// with vfork(), so the cost does not grow with that memory. The caller may have other threads. A
// child that becomes another user has a copy of the memory instead. The reason is that this user
// could stop the child before exec, which would also stop a caller that shares its memory.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "process/account.h"

namespace accel::process {

// The caller's descriptor `source` becomes the child's descriptor `target`.
struct SpawnFd {
  int source = -1;
  int target = -1;
};

struct SpawnOptions {
  // The file to execute, as execve() takes it. A relative path is resolved in `workdir`.
  std::string path;
  std::vector<std::string> argv;
  std::vector<std::string> env;  // The complete environment, as NAME=VALUE.
  std::string workdir;           // If empty, the caller's.
  // All descriptors of the child. It gets no others of the caller. The targets must be 0, 1,
  // 2... without gaps.
  std::vector<SpawnFd> fds;
  // The cgroup v2 folder in which the child is born, or -1. If the kernel refuses, the child starts
  // outside the folder, unless the folder has as many processes as it may have. Then Spawn() fails.
  int cgroup_fd = -1;
  // The open files `tasks` of v1 groups, which the child enters before it does anything else. It
  // goes on if the kernel refuses.
  std::vector<int> entered_groups;
  // The terminal whose foreground process group becomes the child's group, or -1.
  int terminal_fd = -1;
  std::optional<rlimit> open_files;  // The child's RLIMIT_NOFILE. If unset, the caller's.
  // The child's nice value, which is at least the caller's. If the kernel refuses it, or if it is
  // unset, the child has the caller's.
  std::optional<int> nice;
  // The user that the child becomes permanently (become_user.h). The caller must be root. The child
  // enters the working directory with this user's rights. It leads its own session, which has no
  // terminal. If unset, the child has the caller's user and session.
  std::optional<Account> user;
  // Time limit within which a child that becomes a user must execute its program. After it, the
  // child is killed.
  std::chrono::milliseconds user_timeout = std::chrono::seconds(5);
  // If true, the child and its descendants have their own /dev/shm. The caller must be root.
  bool private_shared_memory = false;
};

// The step before exec that failed, and the system's reason.
struct SpawnError {
  enum class Step {
    kFork,
    kDescriptors,
    kWorkdir,
    kTerminal,
    kExec,
    kUser,
    kSharedMemory,
    kTimeout
  };
  Step step = Step::kFork;
  int error = 0;  // errno
};

struct SpawnResult {
  pid_t pid = 0;           // 0 if no process was started; `error` has the reason.
  bool in_cgroup = false;  // The child was born in the folder `cgroup_fd`.
  SpawnError error;

  bool ok() const { return error.error == 0; }
};

// Starts a process that leads its own process group. All its signals are unblocked and have their
// default action. If `keep_hangup_ignored`, a SIGHUP that the caller ignores remains ignored
// (nohup). Returns once the child has executed the program. After a failure, returns its exact
// reason, and no process is left. Thread-safe.
SpawnResult Spawn(const SpawnOptions& options, bool keep_hangup_ignored);

}  // namespace accel::process
