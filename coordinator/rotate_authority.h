// The command `accel-coordinator rotate-ca`. It changes only files of the state directory, so it
// works in the same way whether a coordinator runs or not.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/rotate_flags.h"

namespace accel::coordinator {

// Makes the step that the flags ask for, notes it in the audit log, and returns sentences about it.
// With --status it only reports. Errors are those of the store, of the disk and
// of ReadAuthority(), and:
//
// * NOT_FOUND: no coordinator has run with this state directory.
// * FAILED_PRECONDITION: the directory is another user's, another command is running, or
//   certificates of the old authority are still needed. The message says what to do.
absl::StatusOr<std::string> RotateAuthority(const RotateFlags& flags);

}  // namespace accel::coordinator
