// The actions of the program accel-coordinator, after its command line is parsed.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/flags.h"

namespace accel::coordinator {

// Serves until `stop_fd` is readable. Prints its addresses once calls are accepted.
// FAILED_PRECONDITION: another coordinator uses the state directory. Other errors are those of the
// state directory, the store, the authority and the server.
absl::Status RunCoordinator(const CoordinatorFlags& flags, int stop_fd);

// Reads everything that is stored in the state directory, and returns a sentence about it. A
// coordinator may be running there. NOT_FOUND: nothing is stored. DATA_LOSS: the store is damaged.
// Other errors are those of SqliteFile::Open() and Recover().
absl::StatusOr<std::string> CheckStore(const CoordinatorFlags& flags);

// Copies the store to the file that the flags name, and returns a sentence about it. A coordinator
// may be running meanwhile. Errors are those of SqliteFile::Open() and CopyTo().
absl::StatusOr<std::string> BackUpStore(const CoordinatorFlags& flags);

}  // namespace accel::coordinator
