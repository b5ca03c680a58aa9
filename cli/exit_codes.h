// What `accel` itself exits with, beside the job's own codes (docs/exit-codes.md).
#pragma once

namespace accel {

inline constexpr int kExitError =
    1;  // Something outside the command line: no coordinator, no room on disk...
inline constexpr int kExitUsage = 2;  // The command line.

}  // namespace accel
