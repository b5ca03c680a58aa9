// The CPU priority of the daemons of accel.
#pragma once

namespace accel::common {

// Raises the priority of this process to nice -10, so that a daemon still answers in time on a
// machine that is full of runnable threads (docs/decisions/0089). A process with another nice value
// than 0 keeps it, because it was chosen. So does a process that may not raise its priority. Must
// be called before other threads are started, which inherit the priority.
//
// Returns the nice value for jobs, which must not share the higher priority: that of this process
// before the call, but at least 0.
int RaiseDaemonPriority();

// Lowers a raised priority of the calling thread to nice 0. Called by threads of a daemon that
// copy, read or delete much, because jobs need the processors as well.
void LowerThreadPriority();

}  // namespace accel::common
