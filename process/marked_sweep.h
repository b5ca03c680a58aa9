// Ends processes by what their environment says, for those that no longer descend from anybody who
// knows them: their shim and their agent have died together.
#pragma once

#include "absl/strings/string_view.h"

namespace accel::process {

// Kills every process but this one whose environment, as it was at its exec, has an entry that
// begins with `mark` (NAME=VALUE...). All are stopped first, so that none forks its way out.
// Returns how many it has killed: call it again until that is 0, for their death takes a moment.
// Processes of other users, and those that have cleared their environment, are not seen.
int KillMarked(absl::string_view mark);

}  // namespace accel::process
