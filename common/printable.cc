#include "common/printable.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace accel::common {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD
constexpr absl::string_view kGap = " ... ";

bool InsideCharacter(char c) { return (c & 0xC0) == 0x80; }

void AppendEscaped(absl::string_view character, std::string* text) {
  for (const char byte : character) {
    absl::StrAppend(text, "\\x", absl::Hex(static_cast<uint8_t>(byte), absl::kZeroPad2));
  }
}

}  // namespace

std::string Printable(absl::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t length = Utf8Length(bytes);
    if (length == 0) {
      text.append(kReplacement);
    } else if (bytes[0] != '\t' && ShownLength(bytes) == 0) {
      AppendEscaped(bytes.substr(0, length), &text);
    } else {
      text.append(bytes.data(), length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string Shortened(absl::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  const size_t each = (most - kGap.size()) / 2;
  size_t head = each, tail = text.size() - each;
  while (head > 0 && InsideCharacter(text[head])) --head;
  while (tail < text.size() && InsideCharacter(text[tail])) ++tail;
  return absl::StrCat(text.substr(0, head), kGap, text.substr(tail));
}

}  // namespace accel::common
