// What `accel` itself exits with, beside the job's own codes (docs/exit-codes.md).
#pragma once

namespace accel::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;  // No coordinator, no room on disk: not the command line.
inline constexpr int kExitUsage = 2;  // The command line.

}  // namespace accel::cli
