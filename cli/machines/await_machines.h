// Waits until all machines of a launch take part, and shows which of them are missing.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/console.h"

namespace accel::cli {

struct Awaited {
  int wake_fd = -1;  // Readable when `is_here` may have changed.
  // Returns true once there is nothing more to wait for. Makes `wake_fd` unreadable again.
  std::function<absl::StatusOr<bool>()> is_here;
  // Returns a sentence that says which machines are here. Empty if this is not known.
  std::function<std::string()> progress;
};

// Blocks until `awaited.is_here` returns true, and then returns 0. If a signal arrives on the
// signalfd `signals` first, returns its number. DEADLINE_EXCEEDED: `timeout` has passed. Other
// errors are those of `is_here`.
absl::StatusOr<int> AwaitMachines(const Awaited& awaited, int signals, absl::Duration timeout,
                                  const Console& console);

}  // namespace accel::cli
