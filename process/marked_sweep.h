// Kills processes by a mark in their environment. Workers whose shim and agent were killed together
// are found this way, because they are no longer descendants of any process of accel.
#pragma once

#include "absl/strings/string_view.h"

namespace accel::process {

// Kills every process except this one whose environment, as it was at exec, has an entry that
// begins with `mark` (NAME=VALUE...). Stops all of them first, so that none escapes by forking.
// Returns the number of killed processes. Must be called again until it returns 0, because killed
// processes take a moment to die. Without root's rights it does not find processes of other users.
// It never finds processes that have cleared their environment.
int KillMarked(absl::string_view mark);

}  // namespace accel::process
