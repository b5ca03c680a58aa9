// JSON for tracked values. The JSON lines and the TensorBoard tracker use it.
#pragma once

#include <string>

#include "accel/tracker.h"

namespace accel::runtime {

// Return strict JSON without line ends. Finite floating-point numbers are parsed to the same
// number. JSON has no other numbers, so these become the strings "NaN", "Infinity" and "-Infinity".
// Bytes that are not UTF-8 are replaced by U+FFFD.
std::string to_json(const TrackedValue& value);
std::string to_json(const TrackedValues& values);

}  // namespace accel::runtime
