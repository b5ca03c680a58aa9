// Files with keys and certificates. After a crash such a file has either the old or the new
// content. It is read only if no other user, except root, could have changed or read it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::security {

inline constexpr size_t kMaxSecretFileBytes = 64 << 10;

// Writes a file with mode 0600 next to `path`, syncs it, renames it to `path`, and syncs the
// folder. The folder must exist. The messages of errors have the path and the reason.
absl::Status WriteSecretFile(const std::string& path, absl::string_view content);

// Reads a file. NOT_FOUND: there is none. FAILED_PRECONDITION: it is not a regular file, it is
// larger than kMaxSecretFileBytes, its owner is neither this user nor root, or other users may read
// or write it. The message says what is wrong.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path);

}  // namespace accel::security
