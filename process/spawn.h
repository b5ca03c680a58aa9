// Starts a process without copying the caller. The child shares the caller's memory until exec, as
// with vfork(), so the cost does not grow with that memory. Other threads of the caller do no harm.
// A child that becomes another user has a copy of the memory instead, because that user could stop
// it before exec, and the caller with it.
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
  // All descriptors of the child, whatever else the caller has open. The targets must be 0, 1,
  // 2... without gaps.
  std::vector<SpawnFd> fds;
  // The cgroup v2 folder in which the child is born. If that fails, the child starts outside it.
  int cgroup_fd = -1;
  // A terminal whose foreground process group the child's group becomes, or -1.
  int terminal_fd = -1;
  std::optional<rlimit> open_files;  // The child's RLIMIT_NOFILE. If unset, the caller's.
  // The user that the child becomes, for good and without root's rights (become_user.h). The caller
  // must be root. The working directory is entered with that user's rights. The child leads its own
  // session, which has no terminal. If unset, the caller's user and session.
  std::optional<Account> user;
  // The longest time that a child which becomes a user may take to execute its program. It is
  // killed then.
  std::chrono::milliseconds user_timeout = std::chrono::seconds(5);
  // The child and its descendants have a /dev/shm of their own. The caller must be root.
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
  pid_t pid = 0;           // 0 if nothing runs; `error` has the reason.
  bool in_cgroup = false;  // The child was born in the folder `cgroup_fd`.
  SpawnError error;

  bool ok() const { return error.error == 0; }
};

// Starts a process that leads its own process group, with all signals unblocked and at their
// default action. If `keep_hangup_ignored`, a SIGHUP that is ignored remains ignored (nohup).
// Returns once the program has been executed, or with the exact reason of the failure, and then no
// process is left. Thread-safe.
SpawnResult Spawn(const SpawnOptions& options, bool keep_hangup_ignored);

}  // namespace accel::process
