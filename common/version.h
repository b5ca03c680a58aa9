#pragma once

namespace accel {

// Of every program in this repository; printed by --version.
constexpr char kVersion[] = "accel 0.1.0";

}  // namespace accel
