#include "common/utf8.h"

#include <cstdint>

namespace accel::common {
namespace {

uint8_t Byte(absl::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

}  // namespace

size_t Utf8Length(absl::string_view text) {
  const uint8_t lead = Byte(text, 0);
  if (lead < 0x80) return 1;
  const size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  // The range of the second byte excludes overlong forms, surrogates, and code
  // points above U+10FFFF.
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (Byte(text, 1) < low || Byte(text, 1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((Byte(text, i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

size_t ShownLength(absl::string_view text) {
  const size_t length = Utf8Length(text);
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1) return byte(0) < 0x20 || byte(0) == 0x7F ? 0 : 1;
  if (length == 2) {
    const bool c1 = byte(0) == 0xC2 && byte(1) < 0xA0;
    const bool arabic_mark = byte(0) == 0xD8 && byte(1) == 0x9C;  // U+061C
    return c1 || arabic_mark ? 0 : 2;
  }
  if (length == 3 && byte(0) == 0xE2) {
    const bool marks = byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F);  // U+200E, U+200F
    const bool lines_and_embeddings = byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE;
    const bool isolates = byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
    if (marks || lines_and_embeddings || isolates) return 0;
  }
  return length;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace accel::common
