// Turns SIGTERM and SIGINT into a descriptor to poll.
#pragma once

namespace accel::common {

// Blocks both signals in this thread and in those that it starts, and returns a descriptor that is
// readable once one has arrived. From now on SIGHUP (its user has logged out), SIGUSR1, SIGUSR2 and
// SIGPIPE do nothing, because a daemon shuts down only when it is asked to. Call it before the
// first thread is started. The descriptor is never closed.
int StopSignalFd();

}  // namespace accel::common
