// The command line of accel-shim, for the programs that start it.
#pragma once

namespace accel::shim {

// The shim's descriptor of the socket to its agent.
constexpr int kShimControlFd = 3;
constexpr char kShimControlFlag[] = "--control_fd=3";

constexpr char kShimHelp[] =
    R"(accel-shim runs the workers of one job on one node and ends every process of it.
accel-agent and accel launch start it; do not start it by hand.

  --control_fd=3  the connected socket to its agent
  --help          this text
  --version       the version

Exit codes:
  0  the agent or SIGTERM ended the job
  1  it could not start
  2  wrong flags, or no socket on the control descriptor
  3  the agent was gone, so the job was ended
  4  the agent sent an invalid command, and the job has been ended
)";

}  // namespace accel::shim
