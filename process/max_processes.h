// The limit for the processes and threads of one generation on a node, so that a job that starts
// processes without end leaves the node usable (docs/decisions/0098).
#pragma once

#include <cstdint>
#include <optional>

namespace accel::process {

// What the group of a whole job of another user has for its shim, beyond the limit of its
// generation. The shim has a few threads, and one child while it starts a worker.
inline constexpr int kProcessesOfShim = 32;

// The range of limits that can be chosen. A job needs more than one process to do anything, and the
// kernel has no more process ids and takes no larger limit.
inline constexpr int kLeastMaxProcesses = 16;
inline constexpr int kMostMaxProcesses = (1 << 22) - kProcessesOfShim;

// What a node can hold. 0 stands for an unknown number.
struct ProcessRoom {
  int64_t ids = 0;               // kernel.pid_max. Each thread takes one.
  int64_t threads = 0;           // kernel.threads-max
  std::optional<int64_t> group;  // The smallest pids.max of the agent's own group and those above.
  int cpus = 0;
};

// Returns the room of this node. `group` is that of the result.
ProcessRoom ReadProcessRoom(std::optional<int64_t> group);

// Returns the default limit of one generation: three quarters of the room, but at most 1024 for
// each CPU, or 16384 if that is more. Pure.
int64_t DefaultMaxProcesses(const ProcessRoom& room);

}  // namespace accel::process
