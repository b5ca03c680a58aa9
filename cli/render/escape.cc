#include "cli/render/escape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace accel::cli {
namespace {

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
    const size_t length = common::ShownLength(text);
    if (length == 0) AppendEscaped(static_cast<unsigned char>(text[0]), &out);
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

}  // namespace accel::cli
