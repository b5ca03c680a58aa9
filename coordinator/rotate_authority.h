// What the command `accel-coordinator rotate-ca` does. It changes files of the state directory
// only, so it is the same whether a coordinator runs or not.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "coordinator/rotate_flags.h"

namespace accel::coordinator {

// Makes the step that the flags ask for, notes it in the audit log, and returns sentences about it.
// NOT_FOUND: no coordinator has run with this state directory. FAILED_PRECONDITION: the directory
// is another user's, a file is damaged, or certificates of the old authority are still needed; the
// message says which and what to do. Others: those of the store and of the disk.
absl::StatusOr<std::string> RotateAuthority(const RotateFlags& flags);

}  // namespace accel::coordinator
