#pragma once

#include <string>

#include "accel/tracker.h"

namespace accel::runtime {

// Strict JSON without line ends. Floating-point numbers read back as the same number; those that
// JSON lacks are the texts "NaN", "Infinity" and "-Infinity". What is not UTF-8 becomes U+FFFD.
std::string to_json(const TrackedValue& value);
std::string to_json(const TrackedValues& values);

}  // namespace accel::runtime
