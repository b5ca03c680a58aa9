// Sends messages to the launcher over a socket that this process has inherited (the shim's
// worker_reports.h): committed checkpoints and signs of progress.
#pragma once

#include <string>
#include <string_view>

namespace accel::runtime {

// Sends one message. `socket` is DESCRIPTOR:INODE. Does nothing if `socket` is empty, as under
// another launcher, or if the descriptor no longer belongs to the launcher. Never blocks and never
// fails: if there is no room, the message is lost. Thread-safe.
void send_to_launcher(const std::string& socket, std::string_view message);

}  // namespace accel::runtime
