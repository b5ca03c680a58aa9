// The one place that holds the version of accel.
#pragma once

namespace accel::common {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace accel::common
