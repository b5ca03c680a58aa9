// Tells the launcher that a checkpoint is committed. An elastic job then grows at a moment at which
// it loses no work (docs/decisions/0045).
#pragma once

#include <string>

namespace accel::runtime {

// Sends the report over `socket`, which is Environment::report_socket. Does nothing if `socket` is
// empty, as under another launcher, or if the descriptor no longer belongs to the launcher. Never
// blocks and never fails, because the checkpoint is complete even without the report. Thread-safe.
void report_checkpoint(const std::string& socket);

}  // namespace accel::runtime
