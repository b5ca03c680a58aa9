// accel-shim: parent of one job's workers on one node. Started by accel-agent and accel launch.
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "agent/process/sweep.h"
#include "agent/shim/shim.h"
#include "agent/shim/shim_program.h"
#include "agent/shim/tcp_rendezvous_store.h"
#include "common/version.h"

namespace {

constexpr char kHelp[] =
    R"(accel-shim runs the workers of one job on one node and ends every process of it.
accel-agent and accel launch start it; it is of no use by hand.

  --control_fd=3  the connected socket to its agent
  --help          this text
  --version       the version

Exit codes:
  0  the agent, or SIGTERM, has ended the job
  1  it could not start
  2  wrong flags, or no socket on the control descriptor
  3  the agent was gone, and the job has been ended
  4  the agent sent what is no command, and the job has been ended
)";

int Usage(const char* complaint) {
  std::fprintf(stderr, "accel-shim: %s; see --help\n", complaint);
  return accel::kShimUsage;
}

// SIGTERM and SIGCHLD go to a descriptor. The job ends by end-of-file on the control socket, never
// by what the terminal sends to everyone.
accel::UniqueFd TakeSignals() {
  for (int number : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTTOU, SIGTSTP}) {
    ::signal(number, SIG_IGN);
  }
  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, SIGTERM);
  sigaddset(&taken, SIGCHLD);
  sigprocmask(SIG_BLOCK, &taken, nullptr);
  return accel::UniqueFd(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool HangupIsIgnored() {
  struct sigaction now = {};
  return sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--help") == 0) return std::fputs(kHelp, stdout) < 0;
    if (std::strcmp(argv[i], "--version") == 0) return std::puts(accel::kVersion) < 0;
    if (std::strcmp(argv[i], accel::kShimControlFlag) != 0) return Usage(argv[i]);
  }
  struct stat control;
  if (argc != 2 || fstat(accel::kShimControlFd, &control) != 0 || !S_ISSOCK(control.st_mode)) {
    return Usage("started without a socket to an agent");
  }
  fcntl(accel::kShimControlFd, F_SETFD, FD_CLOEXEC);
  accel::ShimOptions options;
  options.start_store = accel::TcpRendezvousStores();
  options.keep_hangup_ignored = HangupIsIgnored();
  options.control.reset(accel::kShimControlFd);
  options.signals = TakeSignals();
  if (!options.signals.valid()) return accel::kShimFailed;
  accel::BecomeSubreaper();
  return accel::Shim(std::move(options)).Run();
}
