#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace accel::fuzz {
namespace {

// Sizes, counts and codes that decoders confuse: the ends of the ranges of 8, 16, 32 and 64 bits.
constexpr uint64_t kNumbers[] = {0,          1,          2,          0x7f,       0x80,
                                 0xff,       0x7fff,     0x8000,     0xffff,     0x10000,
                                 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32, INT64_MAX,
                                 1ull << 63, UINT64_MAX};
// The same in text, and what gives structure to texts.
constexpr const char* kWords[] = {"0",    "-1",  "2147483648", "18446744073709551616",
                                  "1e99", "nan", "\"",         "{",
                                  "}",    "[",   "]",          ":",
                                  ",",    "\n",  "\t",         "../",
                                  "/",    "&a",  "*a",         "\xe2\x80\xae"};

// The standard's distributions differ between libraries, and the failure of one must be repeatable
// on another.
size_t Below(size_t bound, std::mt19937_64& random) { return bound == 0 ? 0 : random() % bound; }

void WriteNumber(std::string& bytes, std::mt19937_64& random) {
  const size_t width = size_t{1} << Below(4, random);
  if (bytes.size() < width) return;
  uint64_t number = kNumbers[Below(std::size(kNumbers), random)];
  const size_t at = Below(bytes.size() - width + 1, random);
  const bool big_endian = Below(2, random) == 1;
  for (size_t i = 0; i < width; ++i, number >>= 8) {
    bytes[at + (big_endian ? width - 1 - i : i)] = static_cast<char>(number & 0xff);
  }
}

// Returns a random part of `text`, at most 64 bytes or all of it.
std::string Part(const std::string& text, std::mt19937_64& random) {
  const size_t at = Below(text.size(), random);
  const size_t most = Below(4, random) == 0 ? text.size() : 64;
  return text.substr(at, 1 + Below(most, random));
}

void Change(const std::vector<std::string>& corpus, std::string& bytes, std::mt19937_64& random) {
  const size_t at = Below(bytes.size(), random);
  switch (Below(8, random)) {
    case 0:
      if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8, random)));
      return;
    case 1:
      if (!bytes.empty()) bytes[at] = static_cast<char>(random());
      return;
    case 2:
      bytes.erase(at, 1 + Below(16, random));
      return;
    case 3:
      bytes.insert(at, 1 + Below(16, random), static_cast<char>(random()));
      return;
    case 4:
      bytes.insert(at, Part(bytes, random));
      return;
    case 5:
      bytes.insert(at, Part(corpus[Below(corpus.size(), random)], random));
      return;
    case 6:
      bytes.insert(at, kWords[Below(std::size(kWords), random)]);
      return;
    default:
      WriteNumber(bytes, random);
      return;
  }
}

}  // namespace

std::string Mutate(const std::vector<std::string>& corpus, std::mt19937_64& random) {
  std::string bytes = corpus[Below(corpus.size(), random)];
  for (size_t left = 1 + Below(4, random); left > 0; --left) Change(corpus, bytes, random);
  if (bytes.size() > kMaxInputBytes) bytes.resize(kMaxInputBytes);
  return bytes;
}

}  // namespace accel::fuzz
