// Parses JSON from files that may be damaged or hostile.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace accel::weights {

// Returns the parsed text, or a discarded value (is_discarded()) if it is not JSON or nests deeper
// than 32 levels. No file of ours does, and nlohmann's dump() and copies recurse, so deep nesting
// would overflow the stack.
nlohmann::json parse_json(std::string_view text);

}  // namespace accel::weights
