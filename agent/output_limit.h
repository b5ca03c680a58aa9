// The flag --output_limit: the limit for the output of all jobs on a node.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::agent {

// The default: this share of the file system, but at most kMaxDefaultOutput bytes. The bound also
// applies to an operator who gives the same text.
inline constexpr char kDefaultOutputLimit[] = "10%";
inline constexpr int64_t kMaxDefaultOutput = int64_t{100} << 30;

// Parses a size such as "20GiB", "500MB" or "1TB", or a share of `disk_bytes` such as "5%". A share
// of less than 64 MiB is raised to 64 MiB. INVALID_ARGUMENT: `text` has another form, the size is
// less than 64 MiB, or the share is more than 100%.
absl::StatusOr<int64_t> ParseOutputLimit(absl::string_view text, int64_t disk_bytes);

// Returns the size of the file system that contains `folder`, which must exist.
absl::StatusOr<int64_t> DiskBytes(const std::string& folder);

}  // namespace accel::agent
