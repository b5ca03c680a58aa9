// A message of several strings, which ranks exchange: each string has its length in front.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accel::runtime {

std::string pack_strings(const std::vector<std::string>& strings);

// Returns the strings that a peer passed to pack_strings(), or nullopt if `bytes` is anything else,
// such as the message of another call. Never allocates more than `bytes` needs.
std::optional<std::vector<std::string>> unpack_strings(std::string_view bytes);

}  // namespace accel::runtime
