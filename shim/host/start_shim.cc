// How a host starts a shim. The rest of the class is in posix_shim_host.cc.
//
// The problem: the agent may be killed between any two of these steps, and the agent after it must
// not miss a process. So the intent is on record and the socket listens before the process exists:
//
// clang-format off
//   killed after        the next agent finds
//   ------------------  ----------------------------------------------------------------------
//   intent              a record without a pid, and no socket: nothing was started
//   socket              a socket on which no process listens: nothing was started
//   spawn               a socket that accepts a connection; the shim sends its pid
// clang-format on
//
// A shim that gets no generation and no agent exits by itself.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "process/pidfd.h"
#include "process/process_table.h"
#include "process/spawn.h"
#include "shim/host/posix_shim_host.h"
#include "shim/shim_program.h"

namespace accel::shim {
namespace {

// Starts accel-shim with a socket, and with the folder for its result or -1.
process::SpawnResult SpawnShim(const PosixShimHost::Options& host, const common::JobId& job,
                               int socket, int folder) {
  const common::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  process::SpawnOptions options;
  options.path = host.shim_path;
  options.argv = {host.shim_path, folder < 0 ? kShimControlFlag : kShimListenFlag,
                  absl::StrCat(kShimJobFlag, job.value())};
  options.open_files = host.open_files;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    options.fds.push_back({fcntl(fd, F_GETFD) < 0 ? null.get() : fd, fd});
  }
  options.fds.push_back({socket, kShimSocketFd});
  if (folder >= 0) options.fds.push_back({folder, kShimFolderFd});
  if (host.inherit_fd >= 0) {
    options.fds.push_back({host.inherit_fd, static_cast<int>(options.fds.size())});
  }
  return process::Spawn(options, /*keep_hangup_ignored=*/true);
}

absl::Status Unstarted(absl::string_view what, const absl::Status& why) {
  return absl::InternalError(absl::StrCat(what, ": ", why.message()));
}

}  // namespace

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
    // The intent comes before the process, so that no process is ever without a record.
    const absl::Status intent = shim->folder->WriteRecord(shim->record);
    if (!intent.ok()) return Unstarted("Cannot start accel-shim", intent);
    absl::StatusOr<common::UniqueFd> listener = shim->folder->Listen();
    if (!listener.ok()) return Unstarted("Cannot start accel-shim", listener.status());
    theirs = *std::move(listener);
  }
  const int folder_fd = shim->folder ? shim->folder->fd() : -1;
  const process::SpawnResult spawned = SpawnShim(options_, shim->job, theirs.get(), folder_fd);
  if (!spawned.ok()) {
    if (shim->folder) shim->folder->Remove();
    return absl::InternalError(absl::StrCat("Cannot start ", options_.shim_path, ": ",
                                            strerror(spawned.error.error), "."));
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
