// Locks a state directory, which has the data of one daemon across its restarts.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace accel::common {

// Creates `dir` (mode 0700, with its parents) if it is missing. Locks DIR/DAEMON.lock for this
// process, and writes the id of this process into the file. The lock is held until the descriptor
// is closed or the process ends. A child that inherits the descriptor holds it too. Waits at most
// `timeout` for another holder. FAILED_PRECONDITION: another process holds the lock; the message
// has its id. CANCELLED: `stop_fd` became readable meanwhile. Other errors: the directory or the
// file cannot be created.
absl::StatusOr<UniqueFd> LockStateDir(const std::string& dir, absl::string_view daemon,
                                      absl::Duration timeout = absl::ZeroDuration(),
                                      int stop_fd = -1);

}  // namespace accel::common
