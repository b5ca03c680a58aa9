// The command line of accel-shim, for the programs that start it.
#pragma once

namespace accel::shim {

// The shim's descriptor of the socket to its agent, connected or listening, and with a listening
// one the descriptor of the job's folder.
constexpr int kShimSocketFd = 3;
constexpr int kShimFolderFd = 4;
constexpr char kShimControlFlag[] = "--control_fd=3";
constexpr char kShimListenFlag[] = "--listen_fd=3";
constexpr char kShimJobFlag[] = "--job=";  // Followed by the job's id.

// The files in the job's folder: the socket on which the shim listens, the number of the newest
// generation whose start it has received, and the last report of a shim that exited without an
// agent, as a frame (channel.h).
constexpr char kShimSocketName[] = "sock";
constexpr char kShimStartedName[] = "started";
constexpr char kShimResultName[] = "result";

constexpr char kShimHelp[] =
    R"(accel-shim runs the workers of one job on one node and ends every process of it.
accel-agent and accel launch start it; do not start it by hand.

  --job=JOB       the job's id
  --control_fd=3  the connected socket to its agent; the job ends with the agent
  --listen_fd=3   instead of it, a listening socket to which agents connect;
                  descriptor 4 is then the folder for the result
  --help          this text
  --version       the version

Exit codes:
  0  the agent or SIGTERM ended the job
  1  it could not start
  2  wrong flags, or no socket on descriptor 3
  3  the agent was gone, and the job has ended
  4  the agent sent an invalid command, and the job has been ended
)";

}  // namespace accel::shim
