// Sends the files of an upload that the coordinator lacks.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/console.h"
#include "cli/coordinator_client.h"
#include "upload/local_tree.h"

namespace accel::cli {

// Returns the name of the tree, for JobSpec.upload. `local` must have hashes. If a stream breaks,
// opens another one, and does not send files again that have arrived. Shows a progress bar if
// standard error is a terminal. Reports at the end which files were sent and left out. ABORTED: a
// file has changed meanwhile. Other errors are those of the calls.
absl::StatusOr<std::string> SendUpload(CoordinatorClient& client, const upload::LocalTree& local,
                                       const Console& console);

}  // namespace accel::cli
