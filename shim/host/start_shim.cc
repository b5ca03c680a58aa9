// How a host starts a shim. The rest of the class is in posix_shim_host.cc.
//
// The problem: the agent may be killed between any two of the steps below, and the next agent must
// not miss a process. The agent therefore writes the intent and makes the listening socket before
// the process exists:
//
// clang-format off
//   killed after        the next agent finds
//   ------------------  ----------------------------------------------------------------------
//   intent              a record without a pid, and no socket: nothing was started
//   socket              a socket on which no process listens: nothing was started
//   spawn               a socket that accepts a connection; the shim's hello has its pid
// clang-format on
//
// A shim to which no agent connects, and that gets no generation, exits by itself.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "process/job_cgroup.h"
#include "process/pidfd.h"
#include "process/process_table.h"
#include "process/spawn.h"
#include "shim/host/posix_shim_host.h"
#include "shim/shim_program.h"

namespace accel::shim {
namespace {

// Starts accel-shim with `socket`, and with `folder` for its result. `folder` is -1 if
// there is none.
process::SpawnResult SpawnShim(const PosixShimHost::Options& host, const HostedShim& shim,
                               int socket, int folder) {
  const common::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  process::Cgroup group;
  common::UniqueFd tasks;
  process::SpawnOptions options;
  options.path = host.shim_path;
  options.argv = {host.shim_path, folder < 0 ? kShimControlFlag : kShimListenFlag,
                  absl::StrCat(kShimJobFlag, shim.job.value())};
  options.open_files = host.open_files;
  options.nice = host.nice;
  options.user = shim.user;
  if (shim.user) {
    options.workdir.assign(1, '/');
    options.private_shared_memory = host.private_shared_memory;
    if (!shim.record.job_cgroup.empty()) {
      group = process::MakeShimCgroup(shim.record.job_cgroup, *shim.user);
      options.cgroup_fd = group.fd();
    }
    if (!shim.record.job_pids_cgroup.empty()) {
      tasks = process::MakeShimCgroup(shim.record.job_pids_cgroup, *shim.user).OpenTasks();
      if (tasks.valid()) options.entered_groups.push_back(tasks.get());
    }
  }
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // The shim of another user must not write into the agent's own output.
    const bool is_kept = !shim.user && fcntl(fd, F_GETFD) >= 0;
    options.fds.push_back({is_kept ? fd : null.get(), fd});
  }
  options.fds.push_back({socket, kShimSocketFd});
  if (folder >= 0) options.fds.push_back({folder, kShimFolderFd});
  if (host.inherit_fd >= 0) {
    options.fds.push_back({host.inherit_fd, static_cast<int>(options.fds.size())});
  }
  return process::Spawn(options, /*keep_hangup_ignored=*/true);
}

// Returns true if the start failed because `user` may not execute the shim.
bool IsClosed(const process::SpawnError& error, const std::optional<process::Account>& user) {
  return user && error.step == process::SpawnError::Step::kExec && error.error == EACCES;
}

// Returns why the shim could not be started, as `user` if that has a value.
std::string Reason(const process::SpawnError& error, const std::optional<process::Account>& user) {
  if (error.step == process::SpawnError::Step::kUser) {
    return absl::StrCat("the kernel refuses to run it as that user: ", strerror(error.error));
  }
  if (error.step == process::SpawnError::Step::kSharedMemory) {
    return absl::StrCat("cannot give it a /dev/shm of its own: ", strerror(error.error));
  }
  if (error.step == process::SpawnError::Step::kTimeout) {
    return "it was held up before it ran, for example by a signal of its user; submit it again";
  }
  if (IsClosed(error, user)) {
    return absl::StrCat("user ", user->name, " may not execute it; install accel in a folder that ",
                        "is open to all users, as the package does");
  }
  return strerror(error.error);
}

absl::Status Unstarted(absl::string_view what, const absl::Status& why) {
  return absl::InternalError(absl::StrCat(what, ": ", why.message()));
}

}  // namespace

absl::Status PosixShimHost::StartShimAs(const common::JobId& job, const process::Account& user) {
  if (options_.shims_dir.empty()) {
    return absl::InternalError("A shim of another user needs a state directory.");
  }
  if (shims_.count(job) > 0) {
    return absl::AlreadyExistsError(absl::StrCat("Job ", job.value(), " has a shim."));
  }
  auto shim = std::make_unique<HostedShim>(job, options_.shim_slack);
  shim->user = user;
  shim->record.uid = user.uid;
  shim->record.gid = user.gid;
  shim->watchdog.LimitAnswers();
  ACCEL_RETURN_IF_ERROR(Launch(shim.get()));
  WatchProcess(shim.get());
  shims_.emplace(job, std::move(shim));
  return absl::OkStatus();
}

std::optional<uid_t> PosixShimHost::UserOf(const common::JobId& job) const {
  const auto found = shims_.find(job);
  if (found == shims_.end()) return std::nullopt;
  return found->second->record.uid;
}

// Makes the control groups for a job of another user. Failures are ignored, because the sweep ends
// the job even without groups. The limit of processes is root's, so the user cannot lift it.
void PosixShimHost::MakeCgroups(HostedShim* shim) const {
  const std::pair<std::string, std::string*> groups[] = {
      {options_.cgroups.JobPathFor(shim->job), &shim->record.job_cgroup},
      {options_.cgroups.JobMemoryPathFor(shim->job), &shim->record.job_memory_cgroup},
      {options_.cgroups.JobPidsPathFor(shim->job), &shim->record.job_pids_cgroup}};
  for (const auto& [path, recorded] : groups) {
    if (path.empty()) continue;
    if (process::MakeJobCgroup(path, *shim->user, options_.cgroups.max_processes)) {
      *recorded = path;
    }
  }
}

absl::Status PosixShimHost::Launch(HostedShim* shim) {
  common::UniqueFd ours;
  common::UniqueFd theirs;
  if (options_.shims_dir.empty()) {
    std::tie(ours, theirs) = MakeChannelSockets();
    if (!ours.valid()) return absl::ErrnoToStatus(errno, "Cannot make a socket for accel-shim");
  } else {
    absl::StatusOr<ShimFolder> folder = ShimFolder::Make(options_.shims_dir, shim->job);
    if (!folder.ok()) return Unstarted("Cannot start accel-shim", folder.status());
    shim->folder = *std::move(folder);
    shim->folder->Clear();
    shim->record.boot_id = options_.boot_id;
    if (shim->user) {
      const absl::Status made = shim->folder->MakeUsers(*shim->user);
      if (!made.ok()) return Unstarted("Cannot start accel-shim", made);
      MakeCgroups(shim);
    }
    // The intent comes before the process, so that no process is ever without a record.
    const absl::Status intent = shim->folder->WriteRecord(shim->record);
    if (!intent.ok()) return Unstarted("Cannot start accel-shim", intent);
    absl::StatusOr<common::UniqueFd> listener = shim->folder->Listen();
    if (!listener.ok()) return Unstarted("Cannot start accel-shim", listener.status());
    theirs = *std::move(listener);
  }
  const int folder_fd = shim->folder ? shim->folder->shim_fd() : -1;
  const process::SpawnResult spawned = SpawnShim(options_, *shim, theirs.get(), folder_fd);
  if (!spawned.ok()) {
    if (shim->folder) shim->folder->Remove();
    RemoveJobCgroups(*shim);
    // INVALID_ARGUMENT counts as the job's failure, because a restart would not help.
    const auto code = IsClosed(spawned.error, shim->user) ? absl::StatusCode::kInvalidArgument
                                                          : absl::StatusCode::kInternal;
    return absl::Status(code, absl::StrCat("Cannot start ", options_.shim_path, ": ",
                                           Reason(spawned.error, shim->user), "."));
  }
  shim->record.pid = spawned.pid;
  // The child has not been reaped yet, so it has an entry, even if it is a zombie.
  if (const auto entry = process::ReadProcess(spawned.pid)) {
    shim->record.start_time_ticks = entry->start_time_ticks;
  }
  shim->pidfd = process::OpenProcess(shim->record.pid, shim->record.start_time_ticks);
  if (shim->folder) {
    // The pid is recorded with the first generation. Until then the shim itself sends it.
    absl::StatusOr<common::UniqueFd> socket = shim->folder->Connect();
    if (socket.ok()) ours = *std::move(socket);
  }
  if (ours.valid()) Connect(shim, std::move(ours));
  return absl::OkStatus();
}

}  // namespace accel::shim
