// Recorded settings of FSDP as options of accel.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/core/sharding/sharding_options.h"

namespace accel::runtime {

using Variables = std::map<std::string, std::string>;

// Returns what a worker with these variables reads. Throws as parse_sharding() does.
inline std::optional<ShardingSettings> parse_variables(const Variables& variables) {
  return parse_sharding([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

// Returns the variable of a plugin's setting, such as "true" or "A,B".
inline std::string variable_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.is_null() ? "" : value.dump();
  std::string list;
  for (const auto& item : value) list += (list.empty() ? "" : ",") + item.get<std::string>();
  return list;
}

}  // namespace accel::runtime
