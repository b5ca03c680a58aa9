// How a process is started without a copy of this one.
//
// The problem: an agent starts shims while the threads of gRPC run, and a shim starts up to 1024
// workers. fork() copies the page tables of the caller, which is slow for a large process. It also
// copies locks that other threads hold at that moment. In addition, the caller needs the exact
// reason why a program could not start. A missing interpreter and a working directory without
// access lead to different advice.
//
// posix_spawn() is not enough. In the glibc of Debian 12 it cannot set the limit of open files, nor
// start the process in a control group. Its error does not say which step failed.
//
// The approach is vfork(). The child runs in the caller's memory, on the calling thread's stack.
// That thread is suspended until the child executes its program or exits. This costs the same for
// every size of caller. An error needs no pipe, because the child writes the step and errno
// directly into a variable of the parent. The price is strict rules for everything that runs in the
// child (RunChild() and below):
// - No allocation and no lock, because another thread may hold the allocator's lock. ChildPlan is
//   therefore complete before the child exists.
// - No signal handler of the caller, because it would run on memory that both share. All
//   signals are therefore blocked before vfork(). The child unblocks them only after it has
//   reset their actions.
// - No return from the function that called vfork(), because its frame is the parent's.
// - The child ends with execve() or _exit().
//
// A child that becomes another user is a copy of the caller (clone without CLONE_VM and
// CLONE_VFORK) and follows the same rules. From the change of its uid until execve, the user can
// stop or freeze the child. A vfork()ed child would suspend the caller for as long. The copy writes
// the failed step and errno to a pipe that execve closes. The caller waits for the end of the pipe
// until a deadline. The copy is not dumpable, so the user cannot read its memory.
//
// If a control group is given, the child is born in it (clone3 with CLONE_INTO_CGROUP). If it
// were moved there later, its own children could be born outside before the move. The glibc of
// Debian 12 has no wrapper for clone3, so there are a few lines of assembly for x86-64. If
// clone3 fails, the child is born outside the group. So is each child on other processors that is
// not a copy. The sweep finds it anyway (docs/decisions/0008).
//
// The child itself enters groups of v1. Moving a whole process takes a lock that the fork of every
// other process needs, and waits up to tens of milliseconds for it. A thread that moves only itself
// takes no such lock since Linux 5.19. The child has no other threads yet, so it writes "0" to the
// group's file `tasks`. That takes 0.03 ms (docs/decisions/0098).
//
// clang-format off
//   this thread                              child
//   ---------------------------------------  --------------------------------------------
//   block all signals
//   clone3 or vfork, suspended  ───────────▶ groups of v1
//        │                                   new process group, or a user's session
//        │                                   signals to their defaults
//        │                                   foreground of the terminal, if asked for
//        │                                   descriptors 0, 1, 2...; nothing else is kept
//        │                                   limit of open files; /dev/shm; the user, for good
//        │                                   working directory
//        │                                   unblock all signals
//   resumed  ◀────────────────────────────── execve, or step and errno, and _exit
//   reap the child if it failed
//   restore the signal mask
// clang-format on

#include "process/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "common/check.h"
#include "common/unique_fd.h"
#include "process/become_user.h"

#if defined(__x86_64__)
// Calls clone3 for a child that shares this thread's stack. A C function cannot do this, because
// the child overwrites the function's return address on the stack before the parent runs again. As
// in every vfork(), the return address is therefore kept in a register.
extern "C" long accel_clone3_vfork(clone_args* args, size_t size) __attribute__((returns_twice));
asm(R"(
  .pushsection .text
  .type accel_clone3_vfork, @function
accel_clone3_vfork:
  popq %rdx
  movl $435, %eax
  syscall
  pushq %rdx
  ret
  .size accel_clone3_vfork, . - accel_clone3_vfork
  .popsection
)");
#endif

namespace accel::process {
namespace {

constexpr int kMaxFds = 8;
constexpr size_t kKernelSignalSetBytes = 8;

// Marks the functions that run in the child. A child of vfork() or clone3 runs on the parent's
// stack, and leaves these functions by execve, not by a return. The address sanitizer poisons parts
// of a stack frame until its function returns. In such a child the poison would remain in the
// parent's memory. A child of Copy() has its own memory and would not need the mark.
#define ACCEL_RUNS_IN_CHILD __attribute__((no_sanitize("address")))

// Everything that the child needs. It is prepared before the child exists, because the child
// must not allocate.
struct ChildPlan {
  const char* path;
  char* const* argv;
  char* const* env;
  const char* workdir;
  const SpawnFd* fds;
  int fd_count;
  const int* entered_groups;
  size_t entered_group_count;
  int terminal_fd;
  const rlimit* open_files;  // If null, the limit is left unchanged.
  const int* nice;           // If null, the nice value is left unchanged.
  bool keep_hangup_ignored;
  const Account* user;  // If null, the child keeps the user of this process.
  bool private_shared_memory;
  // The child writes its error here. The variable is the parent's if the two share memory.
  volatile SpawnError* error;
  int error_fd = -1;  // The pipe for the error of a child that is a copy, or -1.
};

[[noreturn]] ACCEL_RUNS_IN_CHILD void Fail(const ChildPlan& plan, SpawnError::Step step) {
  plan.error->error = errno;
  plan.error->step = step;
  if (plan.error_fd >= 0) {
    const SpawnError copy = {plan.error->step, plan.error->error};
    static_cast<void>(!write(plan.error_fd, &copy, sizeof(copy)));
  }
  _exit(127);
}

ACCEL_RUNS_IN_CHILD void ResetSignals(bool keep_hangup_ignored) {
  struct sigaction hangup = {};
  const bool keep = keep_hangup_ignored && sigaction(SIGHUP, nullptr, &hangup) == 0 &&
                    hangup.sa_handler == SIG_IGN;
  // The system call is used directly, because glibc's sigaction() refuses the signals that glibc
  // reserves for itself. These signals, too, may have been inherited as ignored.
  const char standard[64] = {};  // Longer than the kernel's struct. All bytes zero means SIG_DFL.
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal == SIGHUP && keep) continue;
    syscall(SYS_rt_sigaction, signal, standard, nullptr, kKernelSignalSetBytes);
  }
}

ACCEL_RUNS_IN_CHILD void PlaceDescriptors(const ChildPlan& plan) {
  // Each source is first duplicated to a number above all targets. Without this, a dup2() to one
  // target could close the source of another.
  int lifted[kMaxFds];
  for (int i = 0; i < plan.fd_count; ++i) {
    lifted[i] = fcntl(plan.fds[i].source, F_DUPFD_CLOEXEC, kMaxFds);
    if (lifted[i] < 0) Fail(plan, SpawnError::Step::kDescriptors);
  }
  for (int i = 0; i < plan.fd_count; ++i) {
    if (dup2(lifted[i], plan.fds[i].target) < 0) Fail(plan, SpawnError::Step::kDescriptors);
  }
  if (syscall(SYS_close_range, plan.fd_count, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  const long limit = sysconf(_SC_OPEN_MAX);
  for (int fd = plan.fd_count; fd < limit; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

[[noreturn]] ACCEL_RUNS_IN_CHILD void RunChild(const ChildPlan& plan) {
  for (size_t i = 0; i < plan.entered_group_count; ++i) {
    static_cast<void>(!write(plan.entered_groups[i], "0", 1));
  }
  // A child of another user gets its own session, because a process of the caller's session could
  // type into the caller's terminal (TIOCSTI).
  plan.user == nullptr ? setpgid(0, 0) : setsid();
  ResetSignals(plan.keep_hangup_ignored);
  // All signals are still blocked here, including SIGTTOU, which would otherwise stop the child.
  if (plan.terminal_fd >= 0 && tcsetpgrp(plan.terminal_fd, getpid()) != 0) {
    Fail(plan, SpawnError::Step::kTerminal);
  }
  PlaceDescriptors(plan);
  if (plan.open_files != nullptr && setrlimit(RLIMIT_NOFILE, plan.open_files) != 0) {
    Fail(plan, SpawnError::Step::kDescriptors);
  }
  // 0 is this child. The caller keeps its nice value, although both share their memory.
  if (plan.nice != nullptr) setpriority(PRIO_PROCESS, 0, *plan.nice);
  if (plan.private_shared_memory && !MakePrivateSharedMemory()) {
    Fail(plan, SpawnError::Step::kSharedMemory);
  }
  if (plan.user != nullptr && !BecomeUser(*plan.user)) Fail(plan, SpawnError::Step::kUser);
  if (*plan.workdir != '\0' && chdir(plan.workdir) != 0) Fail(plan, SpawnError::Step::kWorkdir);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(plan.path, plan.argv, plan.env);
  Fail(plan, SpawnError::Step::kExec);
}

// Runs the child. The calling thread is suspended until the child has executed its program or died.
__attribute__((noinline)) pid_t PlainVfork(const ChildPlan& plan) {
  const pid_t pid = vfork();
  if (pid == 0) RunChild(plan);
  return pid;
}

#if defined(__x86_64__)
ACCEL_RUNS_IN_CHILD __attribute__((noinline)) pid_t Clone3Vfork(const ChildPlan& plan,
                                                                int cgroup_fd) {
  clone_args args = {};
  args.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP;
  args.exit_signal = SIGCHLD;
  args.cgroup = static_cast<uint64_t>(cgroup_fd);
  const long pid = accel_clone3_vfork(&args, sizeof(args));
  if (pid == 0) RunChild(plan);
  if (pid >= 0) return static_cast<pid_t>(pid);
  errno = static_cast<int>(-pid);
  return -1;
}
#else
pid_t Clone3Vfork(const ChildPlan&, int) {
  errno = ENOSYS;
  return -1;
}
#endif

// Starts a child with a copy of this memory. Uses the plain system call, because fork() would run
// the handlers that libraries have registered (pthread_atfork).
ACCEL_RUNS_IN_CHILD __attribute__((noinline)) pid_t Copy(const ChildPlan& plan, int cgroup_fd) {
  clone_args args = {};
  args.flags = cgroup_fd < 0 ? 0 : uint64_t{CLONE_INTO_CGROUP};
  args.exit_signal = SIGCHLD;
  args.cgroup = cgroup_fd < 0 ? 0 : static_cast<uint64_t>(cgroup_fd);
  long pid = syscall(SYS_clone3, &args, sizeof(args));
  // The kernel may have no clone3, or the filter of a container may forbid it.
  if (pid < 0 && cgroup_fd < 0) pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) RunChild(plan);
  return static_cast<pid_t>(pid);
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

SpawnResult Start(const ChildPlan& plan, int cgroup_fd) {
  const bool copies = plan.user != nullptr;
  SpawnResult result;
  if (cgroup_fd >= 0) {
    result.pid = copies ? Copy(plan, cgroup_fd) : Clone3Vfork(plan, cgroup_fd);
    result.in_cgroup = result.pid > 0;
  }
  // EAGAIN: the limit of the group has been reached. Outside of it, the child would have none.
  const bool may_be_outside = cgroup_fd < 0 || errno != EAGAIN;
  if (!result.in_cgroup && may_be_outside) {
    result.pid = copies ? Copy(plan, -1) : PlainVfork(plan);
  }
  if (result.pid < 0) result.error = {SpawnError::Step::kFork, errno};
  return result;
}

// Makes a pipe that execve closes. The child's end has a number above all targets of
// the child's descriptors.
bool MakePipe(common::UniqueFd* from_child, common::UniqueFd* to_parent) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  from_child->reset(ends[0]);
  const common::UniqueFd low(ends[1]);
  to_parent->reset(fcntl(low.get(), F_DUPFD_CLOEXEC, kMaxFds));
  return to_parent->valid();
}

// Waits until a child that is a copy has executed its program or failed, and returns its error. The
// wait has a deadline, because the user may have stopped or frozen the child.
SpawnError AwaitExec(int error_fd, std::chrono::milliseconds timeout) {
  pollfd news = {.fd = error_fd, .events = POLLIN, .revents = 0};
  // All signals are blocked, so no signal interrupts poll(). The end of the pipe is an event too.
  if (poll(&news, 1, static_cast<int>(timeout.count())) != 1) {
    return {SpawnError::Step::kTimeout, ETIMEDOUT};
  }
  SpawnError error;
  if (read(error_fd, &error, sizeof(error)) == sizeof(error)) return error;
  return {};
}

}  // namespace

SpawnResult Spawn(const SpawnOptions& options, bool keep_hangup_ignored) {
  ACCEL_CHECK(options.fds.size() <= kMaxFds, "a child gets at most kMaxFds descriptors");
  const std::vector<char*> argv = Pointers(options.argv);
  const std::vector<char*> env = Pointers(options.env);
  volatile SpawnError error;
  error.step = SpawnError::Step::kFork;
  error.error = 0;
  common::UniqueFd from_child, to_parent;
  if (options.user && !MakePipe(&from_child, &to_parent)) {
    SpawnResult failed;
    failed.error = {SpawnError::Step::kFork, errno};
    return failed;
  }
  const ChildPlan plan = {.path = options.path.c_str(),
                          .argv = argv.data(),
                          .env = env.data(),
                          .workdir = options.workdir.c_str(),
                          .fds = options.fds.data(),
                          .fd_count = static_cast<int>(options.fds.size()),
                          .entered_groups = options.entered_groups.data(),
                          .entered_group_count = options.entered_groups.size(),
                          .terminal_fd = options.terminal_fd,
                          .open_files = options.open_files ? &*options.open_files : nullptr,
                          .nice = options.nice ? &*options.nice : nullptr,
                          .keep_hangup_ignored = keep_hangup_ignored,
                          .user = options.user ? &*options.user : nullptr,
                          .private_shared_memory = options.private_shared_memory,
                          .error = &error,
                          .error_fd = to_parent.get()};
  // Blocks all signals, because a handler of the caller would run in the child on shared memory.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  SpawnResult result = Start(plan, options.cgroup_fd);
  if (result.ok()) {
    result.error.step = error.step;
    result.error.error = error.error;
    to_parent.reset();  // Only the child has this end now.
    if (options.user) {
      result.error = AwaitExec(from_child.get(), options.user_timeout);
    }
    if (!result.ok()) {
      // The user may stop the child before its _exit(). SIGKILL also ends a stopped process.
      if (options.user) kill(result.pid, SIGKILL);
      waitpid(result.pid, nullptr, 0);
      result.pid = 0;
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

}  // namespace accel::process
