// The bound of --max_restarts, which flags, configuration files and job files share.
#pragma once

namespace accel::cli {

inline constexpr int kMaxRestarts = 10'000;

}  // namespace accel::cli
