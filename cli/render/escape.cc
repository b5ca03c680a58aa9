#include "cli/render/escape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace accel {
namespace {

// The length of the character that begins the text, if it may be shown as it is; else 0. The C1
// controls (U+0080 to U+009F) may not: some terminals obey them.
size_t ShownLength(absl::string_view text) {
  const bool c1 =
      text.size() > 1 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0;
  return c1 ? 0 : Utf8Length(text);
}

void AppendEscaped(unsigned char byte, std::string* out) {
  switch (byte) {
    case '\n':
      out->append("\\n");
      return;
    case '\r':
      out->append("\\r");
      return;
    case '\t':
      out->append("\\t");
      return;
    default:
      absl::StrAppend(out, "\\x", absl::Hex(byte, absl::kZeroPad2));
  }
}

}  // namespace

std::string EscapeControls(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const bool control = byte < 0x20 || byte == 0x7F;
    const size_t length = control ? 0 : ShownLength(text);
    if (length == 0) AppendEscaped(byte, &out);
    out.append(text.data(), length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

size_t DisplayWidth(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace accel
