// Files with keys and certificates: written so that a crash leaves the old or the new content, and
// read only if no other user could have changed or seen them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::security {

inline constexpr size_t kMaxSecretFileBytes = 64 << 10;

// Writes a file with mode 0600 beside `path`, syncs it, renames it to `path`, and syncs the folder.
// The folder must exist. Errors have the path and the reason.
absl::Status WriteSecretFile(const std::string& path, absl::string_view content);

// Reads a file of at most 64 KiB. NOT_FOUND: there is none. FAILED_PRECONDITION: it is not a plain
// file, belongs to another user than this one or root, or others may read or write it; the message
// says what to do.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path);

}  // namespace accel::security
