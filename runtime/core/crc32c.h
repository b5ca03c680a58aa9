#pragma once

#include <cstddef>
#include <cstdint>

namespace accel {

// The CRC-32C (Castagnoli) of what was hashed so far, `crc`, and then these bytes; begin with 0. By
// the processor's own instruction where it has one, some 8 GB/s.
std::uint32_t extend_crc32c(std::uint32_t crc, const void* data, std::size_t size);

// The CRC-32C of two stretches of bytes, one after the other, from that of each and the size of the
// second: so that several threads can hash one file.
std::uint32_t join_crc32c(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

// extend_crc32c() without that instruction.
std::uint32_t extend_crc32c_portably(std::uint32_t crc, const void* data, std::size_t size);

}  // namespace accel
