#include "weights/core/shown.h"

#include <cstddef>

#include "absl/strings/string_view.h"
#include "common/utf8.h"

namespace accel::weights {
namespace {

constexpr std::size_t kMaxBytes = 128;
constexpr char kDigits[] = "0123456789abcdef";

}  // namespace

std::string shown(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = common::ShownLength(absl::string_view(text.data(), text.size()));
    const auto byte = static_cast<unsigned char>(text[0]);
    std::string next(text.substr(0, length));
    if (length == 0) next = {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    if (out.size() + next.size() > kMaxBytes) return out + "...";
    out += next;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace accel::weights
