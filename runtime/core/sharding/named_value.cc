#include "runtime/core/sharding/named_value.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "common/edit_distance.h"

namespace accel::runtime {
namespace {

constexpr std::size_t kMaxShown = 100;
// Longer words are unlikely to be typos, and edit distance is quadratic in the length.
constexpr std::size_t kMaxCompared = 64;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return out + (text.size() > kMaxShown ? "...\"" : "\"");
}

std::size_t find_name(std::string_view text, std::span<const std::string_view> names) {
  const std::string wanted = lower(text);
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](std::string_view name) { return lower(name) == wanted; });
  return static_cast<std::size_t>(found - names.begin());
}

std::string suggestion(std::string_view text, std::span<const std::string_view> names) {
  if (text.size() > kMaxCompared) return "";
  std::string_view nearest;
  std::size_t least = text.size() / 3 + 1;
  const std::string word = lower(text);
  for (const std::string_view name : names) {
    if (name.size() > kMaxCompared) continue;
    const std::size_t distance = common::EditDistance(word, lower(name));
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  if (nearest.empty()) return "";
  return ", did you mean " + std::string(nearest) + "?";
}

void refuse_name(std::string_view key, std::string_view text,
                 std::span<const std::string_view> names, std::string_view also) {
  std::string message = std::string(key) + "=" + in_quotes(text) + " should be ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) message += i + 1 < names.size() ? ", " : " or ";
    message += names[i];
  }
  throw std::invalid_argument(message + std::string(also) + suggestion(text, names));
}

}  // namespace accel::runtime
