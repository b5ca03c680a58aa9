// Kills processes that would fork their way out of a sweep which kills one by one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>

#include "process/process_table.h"

namespace accel::process {

// Sends `signal` to the process that had this start time; false if it is gone.
bool SignalProcess(pid_t pid, uint64_t start_time_ticks, int signal);

using StoppedProcesses = std::map<pid_t, uint64_t>;  // By pid, the start time.

// Stops the processes that `chosen` picks, given those that were stopped before it, again until a
// look at /proc shows no new one; then kills them. Never asks about this process, or about zombies.
// Returns how many it has killed. Their death is the caller's to wait for; it calls again while any
// is left.
int StopAndKill(const std::function<bool(const ProcessEntry&, const StoppedProcesses&)>& chosen);

}  // namespace accel::process
