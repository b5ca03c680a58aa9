// The errors of files that are placed for a job.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace accel::agent {

// Both describe errno. UNAVAILABLE: it is this node's failure.
absl::Status PlaceFailed(absl::string_view what, absl::string_view path);

// For what is done with the user's rights. INVALID_ARGUMENT: the user has put something in the way,
// or may not write more, and no other node or attempt would change that. Others: as above.
absl::Status UserPlaceFailed(absl::string_view what, absl::string_view path);

}  // namespace accel::agent
