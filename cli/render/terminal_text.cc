#include "cli/render/terminal_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "cli/render/escape.h"
#include "common/utf8.h"

namespace accel::cli {
namespace {

constexpr size_t kLongestSequence = 32;
constexpr size_t kLongestCharacter = 4;

// Returns the length of the allowed sequence that `text` begins with; 0 if it begins with none;
// npos if its end has not arrived.
size_t SequenceLength(absl::string_view text) {
  if (text.size() == 1) return absl::string_view::npos;
  if (text[1] != '[') return 0;
  size_t end = 2;
  while (end < text.size() && (absl::ascii_isdigit(text[end]) || text[end] == ';')) ++end;
  if (end > kLongestSequence) return 0;
  if (end == text.size()) return absl::string_view::npos;
  return text[end] == 'm' || text[end] == 'K' ? end + 1 : 0;
}

// Returns the number of bytes at the beginning of `text` that may be shown as they are, 0 if the
// first byte must be escaped, or npos if that depends on bytes that have not arrived.
size_t SafeLength(absl::string_view text) {
  const char first = text[0];
  if (first == '\n' || first == '\r' || first == '\t') return 1;
  if (first == '\x1b') return SequenceLength(text);
  const size_t length = common::ShownLength(text);
  if (length > 0 || text.size() >= kLongestCharacter) return length;
  // A character of several bytes that is cut off.
  const auto byte = static_cast<unsigned char>(first);
  return byte >= 0xC2 && byte <= 0xF4 && common::Utf8Length(text) == 0 &&
                 std::all_of(text.begin() + 1, text.end(),
                             [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; })
             ? absl::string_view::npos
             : 0;
}

}  // namespace

std::string TerminalText::Add(absl::string_view bytes) {
  held_.append(bytes.data(), bytes.size());
  absl::string_view text = held_;
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = SafeLength(text);
    if (length == absl::string_view::npos) break;
    if (length == 0) {
      out += EscapeControls(text.substr(0, 1));
    } else {
      out.append(text.data(), length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  held_ = std::string(text);
  return out;
}

std::string TerminalText::Flush() {
  std::string out = EscapeControls(held_);
  held_.clear();
  return out;
}

}  // namespace accel::cli
