// Kills a set of processes that may fork meanwhile. All of them are stopped first, because killing
// one at a time would let the others fork.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>

#include "process/process_table.h"

namespace accel::process {

// Sends `signal` to the process with this pid and start time. Returns false if it no longer exists.
bool SignalProcess(pid_t pid, uint64_t start_time_ticks, int signal);

using StoppedProcesses = std::map<pid_t, uint64_t>;  // Start times, by pid.

// Stops the processes for which `chosen` returns true, and then kills them. Scans /proc repeatedly
// until a scan shows no new one. `chosen` also receives the processes stopped so far. It is never
// called for this process, for zombies, or again for stopped processes. Returns the number of
// killed processes. The caller waits for their ends, and calls again while any are left.
int StopAndKill(const std::function<bool(const ProcessEntry&, const StoppedProcesses&)>& chosen);

}  // namespace accel::process
