#include "agent/logs/printable.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace accel {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::string Printable(absl::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto lead = static_cast<uint8_t>(bytes[0]);
    const size_t length = Utf8Length(bytes);
    if (length == 0) {
      text.append(kReplacement);
    } else if ((lead < 0x20 && lead != '\t') || lead == 0x7F) {
      absl::StrAppend(&text, "\\x", absl::Hex(lead, absl::kZeroPad2));
    } else {
      text.append(bytes.data(), length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

}  // namespace accel
