// Runs `systemctl is-system-running`, which prints "stopping" while the host shuts down.
//
// Three files also tell of a shutdown, but each may mislead:
// - /run/systemd/shutdown/scheduled exists hours before a shutdown, which may be called off.
// - /run/nologin is also written by administrators.
// - The record in utmp is written only after the units have got SIGTERM.
//
// For root, systemctl asks PID 1 directly over a private socket. It therefore gets an answer even
// after the shutdown has stopped D-Bus.
#include "agent/host_shutdown.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/unique_fd.h"
#include "process/spawn.h"

namespace accel::agent {
namespace {

constexpr size_t kMaxAnswerBytes = 256;

// Reads until end-of-file, an error, or the deadline.
std::string ReadUntil(int fd, absl::Time deadline) {
  std::string text;
  while (text.size() < kMaxAnswerBytes) {
    const absl::Duration left = deadline - common::SteadyClock()->Now();
    const timespec timeout = absl::ToTimespec(std::max(left, absl::ZeroDuration()));
    pollfd readable{fd, POLLIN, 0};
    if (ppoll(&readable, 1, &timeout, nullptr) <= 0) break;
    char buffer[kMaxAnswerBytes];
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

bool HostIsShuttingDown(const SystemdPaths& paths) {
  if (access(paths.running.c_str(), F_OK) != 0) return false;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const common::UniqueFd reads(ends[0]);
  common::UniqueFd writes(ends[1]);
  const common::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  process::SpawnOptions spawn;
  spawn.path = paths.systemctl;
  spawn.argv = {"systemctl", "is-system-running"};
  spawn.fds = {{null.get(), 0}, {writes.get(), 1}, {null.get(), 2}};
  const process::SpawnResult child = process::Spawn(spawn, /*keep_hangup_ignored=*/false);
  if (!child.ok()) {
    common::LogWarning("cannot ask systemd whether the host shuts down", {{"run", spawn.path}});
    return false;
  }
  writes = common::UniqueFd();
  const std::string answer = ReadUntil(reads.get(), common::SteadyClock()->Now() + paths.longest);
  kill(child.pid, SIGKILL);
  waitpid(child.pid, nullptr, 0);
  return absl::StripAsciiWhitespace(answer) == "stopping";
}

}  // namespace accel::agent
