// Waits until all machines of a launch are here, and says who is missing.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/console.h"

namespace accel::cli {

struct Awaited {
  int wake_fd = -1;  // Readable when `is_here` may have changed.
  // Returns true when there is nothing more to wait for. It clears what made `wake_fd` readable.
  std::function<absl::StatusOr<bool>()> is_here;
  // Returns a sentence that says who is here. Empty if that is not known.
  std::function<std::string()> progress;
};

// Blocks until everything that is awaited is here, and returns 0. If a signal arrives on the
// signalfd `signals` before, returns its number. DEADLINE_EXCEEDED: it lasts longer than `timeout`.
// Other errors are those of `is_here`.
absl::StatusOr<int> AwaitMachines(const Awaited& awaited, int signals, absl::Duration timeout,
                                  const Console& console);

}  // namespace accel::cli
