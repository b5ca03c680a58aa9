#include "agent/logs/printable.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace accel {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD

uint8_t Byte(absl::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

// The length of the well-formed sequence (Unicode table 3-7) that `bytes` begins with; 0 if none.
size_t SequenceLength(absl::string_view bytes) {
  const uint8_t lead = Byte(bytes, 0);
  if (lead < 0x80) return 1;
  const size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || bytes.size() < length) return 0;
  // The second byte excludes overlong forms, surrogates, and what lies beyond U+10FFFF.
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (Byte(bytes, 1) < low || Byte(bytes, 1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((Byte(bytes, i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string Printable(absl::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const uint8_t lead = Byte(bytes, 0);
    const size_t length = SequenceLength(bytes);
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
