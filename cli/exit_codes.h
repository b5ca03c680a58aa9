// Exit codes of `accel` itself, in addition to those of the job (docs/exit-codes.md).
#pragma once

namespace accel::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;  // An error that is not about the command line.
inline constexpr int kExitUsage = 2;  // Wrong usage: the command line.

}  // namespace accel::cli
