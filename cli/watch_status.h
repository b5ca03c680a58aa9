// `accel status --watch`: shows jobs again whenever they change.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "cli/console.h"
#include "cli/coordinator_client.h"

namespace accel::cli {

struct WatchOptions {
  std::string job;    // An id or its beginning. If empty, all jobs.
  bool json = false;  // One line of JSON for each change.
  // If true, the text is redrawn in place, as on a terminal. Otherwise each change is a line.
  bool in_place = false;
};

// Blocks until the job has ended, or forever if all jobs are watched. Tolerates any
// absence of the coordinator. Returns the exit code of the command.
int WatchStatus(CoordinatorClient& client, const WatchOptions& options, const Console& console);

}  // namespace accel::cli
