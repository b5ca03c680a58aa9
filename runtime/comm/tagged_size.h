// A number of bytes in the form in which ranks send it to one another. A receiver can distinguish
// it from other numbers.
//
// Ranks that make different calls can still exchange messages of equal length. One sends a length,
// which has 8 bytes, the other the digest of its parameters, a seed or a count. A receiver that
// takes such a number as a length allocates memory until the process dies. So a length has a tag in
// its upper bits, which a random number has with a probability of 2^-24. The tag shows the mistake
// before memory is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace accel::runtime {

// The largest size that can be sent: 1 TiB less one byte.
inline constexpr std::size_t kMaxTaggedSize = (std::size_t{1} << 40) - 1;

// Throws std::length_error if `bytes` is above kMaxTaggedSize.
std::int64_t tagged_size(std::size_t bytes);

// Returns the size that a peer passed to tagged_size(), or nullopt if `number` has no tag.
std::optional<std::size_t> untagged_size(std::int64_t number);

}  // namespace accel::runtime
