// Kills processes that could escape by forking from a sweep that kills one process at a time.
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

// Stops the processes for which `chosen` returns true, repeatedly until a scan of /proc shows no
// new one, and then kills them. `chosen` also receives the processes stopped so far. It is never
// called for this process or for zombies. Returns how many processes were killed. The caller waits
// for their death, and calls again while any are left.
int StopAndKill(const std::function<bool(const ProcessEntry&, const StoppedProcesses&)>& chosen);

}  // namespace accel::process
