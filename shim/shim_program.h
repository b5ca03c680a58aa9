// The command line of accel-shim, for the programs that start it.
#pragma once

namespace accel::shim {

// The numbers of a shim's descriptors: the connected or listening socket for its agent, and, with a
// listening socket, the job's folder.
constexpr int kShimSocketFd = 3;
constexpr int kShimFolderFd = 4;
constexpr char kShimControlFlag[] = "--control_fd=3";
constexpr char kShimListenFlag[] = "--listen_fd=3";
constexpr char kShimJobFlag[] = "--job=";  // Followed by the job's id.

// The files in the job's folder:
// - the socket on which the shim listens;
// - the number of the newest generation whose start the shim has received;
// - the last report of a shim that no agent read in time, or that died, as a frame (channel.h).
constexpr char kShimSocketName[] = "sock";
constexpr char kShimStartedName[] = "started";
constexpr char kShimResultName[] = "result";

}  // namespace accel::shim
