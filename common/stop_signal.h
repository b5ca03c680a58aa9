// SIGTERM and SIGINT as a descriptor.
#pragma once

namespace accel {

// Blocks both signals in this thread and in those that it starts, and ignores SIGPIPE; the
// descriptor is readable once one has come. Call it before the first thread is started. Owned by
// the process.
int StopSignalFd();

}  // namespace accel
