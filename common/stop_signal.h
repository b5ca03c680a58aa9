// SIGTERM and SIGINT as a descriptor.
#pragma once

namespace accel::common {

// Blocks both signals in this thread and in those that it starts; the descriptor is readable once
// one has come. SIGHUP (its user has logged out), SIGUSR1, SIGUSR2 and SIGPIPE do nothing from now
// on: a daemon ends only when it is told to. Call it before the first thread is started. Owned by
// the process.
int StopSignalFd();

}  // namespace accel::common
