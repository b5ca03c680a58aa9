#include "runtime/core/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace accel::runtime {
namespace {

// The polynomial with its bits reversed: bit 31 is the coefficient of x^0.
constexpr std::uint32_t kPolynomial = 0x82f63b78u;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0u);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

// Returns the product of two polynomials modulo kPolynomial.
std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0u);
  }
  return product;
}

#if defined(__x86_64__)
// Compiled for SSE 4.2 alone, so that the rest of the program runs on processors without it. A CRC
// is stored inverted, hence the complements.
__attribute__((target("sse4.2"))) std::uint32_t extend_by_instruction(std::uint32_t crc,
                                                                      const unsigned char* bytes,
                                                                      std::size_t size) {
  std::uint64_t wide = ~crc;
  for (; size >= 8; size -= 8, bytes += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    wide = _mm_crc32_u64(wide, word);
  }
  auto narrow = static_cast<std::uint32_t>(wide);
  for (; size > 0; --size, ++bytes) narrow = _mm_crc32_u8(narrow, *bytes);
  return ~narrow;
}
#endif

}  // namespace

std::uint32_t extend_crc32c_portably(std::uint32_t crc, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (std::size_t i = 0; i < size; ++i) crc = (crc >> 8) ^ kTable[(crc ^ bytes[i]) & 0xff];
  return ~crc;
}

std::uint32_t extend_crc32c(std::uint32_t crc, const void* data, std::size_t size) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) {
    return extend_by_instruction(crc, static_cast<const unsigned char*>(data), size);
  }
#endif
  return extend_crc32c_portably(crc, data, size);
}

// A CRC is the remainder of the bytes, read as a polynomial. Each byte that follows multiplies that
// polynomial by x^8, so the CRC of the first part is multiplied by x^(8 * second_size). The power
// is computed by repeated squaring.
std::uint32_t combine_crc32c(std::uint32_t first, std::uint32_t second, std::uint64_t second_size) {
  std::uint32_t factor = 1u << 31, power = 1u << (31 - 8);  // x^0 and x^8.
  for (std::uint64_t left = second_size; left != 0; left >>= 1) {
    if ((left & 1) != 0) factor = multiply(factor, power);
    power = multiply(power, power);
  }
  return multiply(factor, first) ^ second;
}

}  // namespace accel::runtime
