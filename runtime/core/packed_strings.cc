#include "runtime/core/packed_strings.h"

#include <cstdint>
#include <cstring>

namespace accel::runtime {

std::string pack_strings(const std::vector<std::string>& strings) {
  std::string out;
  for (const std::string& string : strings) {
    const std::uint64_t length = string.size();
    out.append(reinterpret_cast<const char*>(&length), sizeof length).append(string);
  }
  return out;
}

std::optional<std::vector<std::string>> unpack_strings(std::string_view bytes) {
  std::vector<std::string> out;
  while (!bytes.empty()) {
    std::uint64_t length = 0;
    if (bytes.size() < sizeof length) return std::nullopt;
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes.remove_prefix(sizeof length);
    if (length > bytes.size()) return std::nullopt;
    out.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return out;
}

}  // namespace accel::runtime
