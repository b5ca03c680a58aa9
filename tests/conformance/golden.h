// Golden data that Python's Accelerate has produced.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace accel {

// Returns the cases of `file` in the folder ACCEL_CONFORMANCE_DIR, or in the checked-in folder if
// that is unset. If the file is missing, malformed or empty, the test fails and gets no cases.
nlohmann::json golden_cases(const std::string& file);

}  // namespace accel
