// Parses JSON from files that may be damaged or hostile.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace accel::weights {

// Returns the parsed text, or a discarded value (is_discarded()) if it is not JSON or nests deeper
// than 32 levels. No file of accel nests deeper. Deep nesting would overflow the stack, because
// nlohmann's dump() and copies recurse.
nlohmann::json parse_json(std::string_view text);

}  // namespace accel::weights
