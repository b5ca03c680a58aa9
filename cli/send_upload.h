// Sends an upload to the coordinator, file by file, and only those that it lacks.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/console.h"
#include "cli/coordinator_client.h"
#include "upload/local_tree.h"

namespace accel::cli {

// Returns the name of the tree, for JobSpec.upload. `local` has hashes. A stream that breaks is
// opened again, and files that had arrived are not sent again. Shows a bar if standard error is a
// terminal, and says at the end what was sent and left out. ABORTED: a file has changed meanwhile.
// Others: those of the calls.
absl::StatusOr<std::string> SendUpload(CoordinatorClient& client, const upload::LocalTree& local,
                                       const Console& console);

}  // namespace accel::cli
