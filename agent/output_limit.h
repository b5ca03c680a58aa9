// The limit for the output of all jobs on a node, as an operator gives it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace accel::agent {

// The default: this share of the file system, but not more than kMaxDefaultOutput bytes.
inline constexpr char kDefaultOutputLimit[] = "10%";
inline constexpr int64_t kMaxDefaultOutput = int64_t{100} << 30;

// Parses "20GiB", "500MB", "1TB" or "5%", the latter of `disk_bytes`. INVALID_ARGUMENT: it is none
// of them, or less than 64 MiB.
absl::StatusOr<int64_t> ParseOutputLimit(absl::string_view text, int64_t disk_bytes);

// Returns the size of the file system that contains `folder`, which must exist.
absl::StatusOr<int64_t> DiskBytes(const std::string& folder);

}  // namespace accel::agent
