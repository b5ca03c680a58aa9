#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace accel {

// JSON from a file. A discarded value (is_discarded()) if the text is no JSON, or nests deeper than
// any file of ours: nlohmann's dump() and copies recurse, and would end the process.
nlohmann::json parse_json(std::string_view text);

}  // namespace accel
