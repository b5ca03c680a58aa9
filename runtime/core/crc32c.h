// CRC-32C (Castagnoli) checksums of checkpoint files.
#pragma once

#include <cstddef>
#include <cstdint>

namespace accel::runtime {

// Returns the CRC-32C of some bytes followed by `data`, where `crc` is the CRC-32C of these
// first bytes (0 if there are none). Uses the processor's CRC instruction if there is one, at
// about 8 GB/s.
std::uint32_t extend_crc32c(std::uint32_t crc, const void* data, std::size_t size);

// Returns the CRC-32C of two byte sequences in a row, given the CRC of each and the size of the
// second one. With it, several threads can hash parts of one file.
std::uint32_t combine_crc32c(std::uint32_t first, std::uint32_t second, std::uint64_t second_size);

// Does the same as extend_crc32c(), without the CRC instruction.
std::uint32_t extend_crc32c_portably(std::uint32_t crc, const void* data, std::size_t size);

}  // namespace accel::runtime
