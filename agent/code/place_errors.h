// The errors of files that are placed for a job.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace accel::agent {

// Both functions describe errno. PlaceFailed() returns UNAVAILABLE, because the failure
// is this node's.
absl::Status PlaceFailed(absl::string_view what, absl::string_view path);

// Describes a failure of work that is done with the user's rights. INVALID_ARGUMENT: the user has
// put something in the way, or may not write more, so other nodes and attempts would fail too.
// UNAVAILABLE: the failure is this node's.
absl::Status UserPlaceFailed(absl::string_view what, absl::string_view path);

}  // namespace accel::agent
