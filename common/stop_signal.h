// Turns SIGTERM and SIGINT into a descriptor that can be polled.
#pragma once

namespace accel::common {

// Blocks both signals in this thread and in threads that it starts later. Returns a descriptor that
// is readable once a signal has arrived. From now on SIGHUP (sent when the user logs out), SIGUSR1,
// SIGUSR2 and SIGPIPE have no effect. A daemon must shut down only when it is asked to. Must be
// called before the first thread is started. The descriptor is never closed.
int StopSignalFd();

// Reads the signals that have arrived, so that the descriptor is readable again only after another
// one.
void TakeStopSignals(int stop_fd);

}  // namespace accel::common
