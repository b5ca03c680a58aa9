#include "cli/render/escape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace accel {
namespace {

unsigned char Byte(absl::string_view text, size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

bool IsContinuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// The length of the multi-byte character that begins the text; 0 if none does. Surrogates and
// overlong forms count as none, and so do the C1 controls (U+0080 to U+009F): some terminals obey
// them.
size_t MultiByteLength(absl::string_view text) {
  const unsigned char lead = Byte(text, 0);
  const unsigned char second = Byte(text, 1);
  size_t length = 0;
  unsigned char least = 0x80, most = 0xBF;  // Of the second byte.
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    if (lead == 0xC2) least = 0xA0;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) least = 0xA0;
    if (lead == 0xED) most = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) least = 0x90;
    if (lead == 0xF4) most = 0x8F;
  }
  if (length == 0 || second < least || second > most) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (!IsContinuation(Byte(text, i))) return 0;
  }
  return length;
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
    const unsigned char byte = Byte(text, 0);
    size_t length = 1;
    if (byte < 0x20 || byte == 0x7F) {
      AppendEscaped(byte, &out);
    } else if (byte < 0x80) {
      out.push_back(text[0]);
    } else if (const size_t whole = MultiByteLength(text); whole > 0) {
      length = whole;
      out.append(text.data(), length);
    } else {
      AppendEscaped(byte, &out);
    }
    text.remove_prefix(length);
  }
  return out;
}

size_t DisplayWidth(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return !IsContinuation(static_cast<unsigned char>(c));
  }));
}

}  // namespace accel
