// Golden data made by running Accelerate itself.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace accel {

// The cases of `file` in the folder that ACCEL_CONFORMANCE_DIR names, or in the checked-in one. A
// file that is missing, malformed or empty fails the test, which then gets no cases.
nlohmann::json golden_cases(const std::string& file);

}  // namespace accel
