// Kills processes by a mark in their environment. This finds the workers whose shim and agent have
// died together, because they descend from no process that knows them.
#pragma once

#include "absl/strings/string_view.h"

namespace accel::process {

// Kills every process except this one whose environment, as it was at exec, has an entry that
// begins with `mark` (NAME=VALUE...). Stops all of them first, so that none escapes by
// forking. Returns how many it has killed. Call it again until it returns 0, because killed
// processes take a moment to die. It does not see processes of other users, nor those that
// have cleared their environment.
int KillMarked(absl::string_view mark);

}  // namespace accel::process
