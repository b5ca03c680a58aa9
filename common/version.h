// The version of accel. It is defined here only.
#pragma once

namespace accel::common {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace accel::common
