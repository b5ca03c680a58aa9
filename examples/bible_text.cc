#include "examples/bible_text.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace examples {
namespace {

// The file starts with a magic text, followed by big-endian numbers: the size of a window of the
// text, the number of windows, and the offset of each. Each window is compressed separately by the
// LZW of compress(1), without its header.
constexpr std::string_view kMagic = "EC02Compressed Data File";
constexpr std::size_t kHeader = 0x54;
constexpr std::uint32_t kMaxWindows = 1 << 16;

[[noreturn]] void fail_as_damaged() { throw std::runtime_error("is damaged"); }

std::uint32_t number_at(std::string_view file, std::size_t offset) {
  if (offset + 4 > file.size()) fail_as_damaged();
  std::uint32_t number = 0;
  for (int i = 0; i < 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(file[offset + i]);
  }
  return number;
}

// Reads codes of 9 bits, later of up to 16, from the low end of each byte. Codes come in groups of
// eight. When the width changes, the rest of a group is skipped.
class CodeReader {
 public:
  explicit CodeReader(std::string_view bytes) : bytes_(bytes) {}

  bool has_next() const { return position_ + width_ <= bytes_.size() * 8; }

  std::uint32_t next() {
    std::uint32_t code = 0;
    for (std::size_t bit = 0; bit < width_; ++bit, ++position_) {
      code |= (static_cast<unsigned char>(bytes_[position_ / 8]) >> position_ % 8 & 1u) << bit;
    }
    return code;
  }

  void set_width(std::size_t width) {
    const std::size_t group = width_ * 8, into_group = (position_ - group_begin_) % group;
    if (into_group != 0) position_ += group - into_group;
    group_begin_ = position_;
    width_ = width;
  }
  std::size_t width() const { return width_; }

 private:
  std::string_view bytes_;
  std::size_t width_ = 9, position_ = 0, group_begin_ = 0;
};

// Appends a window of `size` bytes to `text`.
void expand(std::string_view window, std::size_t size, std::string& text) {
  constexpr std::uint32_t kClear = 256, kFirst = 257, kCodes = 1 << 16, kNone = kCodes;
  std::vector<std::uint16_t> prefix(kCodes);
  std::vector<char> last(kCodes);
  for (std::uint32_t byte = 0; byte < 256; ++byte) last[byte] = static_cast<char>(byte);
  CodeReader codes(window);
  std::uint32_t free = kFirst, previous = kNone;
  const std::size_t end = text.size() + size;
  std::string backwards;  // The text of a code, reversed.
  while (codes.has_next() && text.size() < end) {
    if (codes.width() < 16 && free >= 1u << codes.width()) codes.set_width(codes.width() + 1);
    if (!codes.has_next()) break;
    const std::uint32_t code = codes.next();
    if (code == kClear) {
      codes.set_width(9);
      free = kFirst - 1;  // The next code adds an entry that is never used.
      continue;
    }
    if (code > free || (previous == kNone && code >= 256)) fail_as_damaged();
    // A code that is not complete yet begins with the first character of the code before it.
    const bool is_new = code == free;
    const char first_of_previous = backwards.empty() ? '\0' : backwards.back();
    backwards.assign(is_new ? 1 : 0, first_of_previous);
    std::uint32_t entry = is_new ? previous : code;
    for (; entry >= 256; entry = prefix[entry]) backwards += last[entry];
    backwards += last[entry];
    text.append(backwards.rbegin(), backwards.rend());
    if (previous != kNone && free < kCodes) {
      prefix[free] = static_cast<std::uint16_t>(previous);
      last[free++] = backwards.back();
    }
    previous = code;
  }
  if (text.size() > end) fail_as_damaged();
}

std::string expand_all(std::string_view file) {
  const std::uint32_t window = number_at(file, kHeader), count = number_at(file, kHeader + 4);
  if (count > kMaxWindows || window > 1 << 20) fail_as_damaged();
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t begin = number_at(file, kHeader + 8 + 4 * i);
    const std::size_t end = i + 1 < count ? number_at(file, kHeader + 12 + 4 * i) : file.size();
    if (begin > end || end > file.size()) fail_as_damaged();
    expand(file.substr(begin, end - begin), window, text);
  }
  return text;
}

}  // namespace

std::string read_bible(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file.good() && !file.eof()) {
    throw std::runtime_error("cannot read " + path + ": install bible-kjv-text, or pass --text");
  }
  if (!bytes.starts_with(kMagic)) return bytes;
  try {
    return expand_all(bytes);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + " " + error.what());
  }
}

}  // namespace examples
