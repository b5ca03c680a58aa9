// The folder in which one daemon keeps what must outlive it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace accel::common {

// Makes the folder (0700, its parents too) if it is missing, and takes it for this process: holds a
// lock on DIR/DAEMON.lock, in which the process id is written, until the descriptor is closed or
// the process ends; a child that inherits the descriptor holds it too. Waits at most `patience` for
// whoever has it. FAILED_PRECONDITION: another process has it, with its id. Other errors: the
// folder or file cannot be made.
absl::StatusOr<UniqueFd> LockStateDir(const std::string& dir, absl::string_view daemon,
                                      absl::Duration patience = absl::ZeroDuration());

}  // namespace accel::common
