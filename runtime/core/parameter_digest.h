// Digests of parameters, 64 bits each, by which ranks check that they still hold the same
// ones (docs/decisions/0029).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accel/errors.h"

namespace accel::runtime {

// The digest of a parameter is the sum of digest_of_word() over its 8-byte words, modulo 2^64.
// Words are in the machine's byte order, and the last one is filled up with zeros. A sum can be
// taken in any order, so a GPU can compute it with a few tensor operations. Tensors have only
// signed 64-bit numbers. So the constants fit into those, and the shift copies the sign bit.
inline constexpr std::int64_t kDigestStep = 0x1e3779b97f4a7c15;
inline constexpr std::int64_t kDigestFactor = 0x3f58476d1ce4e5b9;
inline constexpr int kDigestShift = 29;

inline std::uint64_t digest_of_word(std::uint64_t word, std::uint64_t index) {
  const auto shifted = [](std::uint64_t value) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> kDigestShift);
  };
  std::uint64_t x = word + index * static_cast<std::uint64_t>(kDigestStep);
  x = (x ^ shifted(x)) * static_cast<std::uint64_t>(kDigestFactor);
  return x ^ shifted(x);
}

// Returns the digest of a parameter's bytes.
std::uint64_t digest_of(std::span<const std::byte> bytes);

// One parameter as one rank holds it.
struct ParameterDigest {
  std::string text;         // Its name, model, dtype and shape.
  std::uint64_t bytes = 0;  // The digest of its bytes.
};

// Returns one number per parameter, which depends on the text of the parameter and on its bytes.
std::vector<std::uint64_t> digests_of(const std::vector<ParameterDigest>& parameters);
// Returns one number for the whole list, which depends on the order and the number of digests.
std::uint64_t combined(const std::vector<std::uint64_t>& digests);

// Returns the first index at which the lists differ, or nullopt if they are equal. If one list is
// the beginning of the other, returns the length of the shorter one.
std::optional<std::size_t> first_difference(const std::vector<std::uint64_t>& mine,
                                            const std::vector<std::uint64_t>& theirs);

// Describes a parameter for differing_parameter(): "a.weight of Net: Float [2, 3], with
// digest 000000000000001f".
std::string description_of(const ParameterDigest& parameter);

// Returns the error text, the same on all ranks. `descriptions` has, in rank order, each rank's
// parameter at the first index where the ranks differ.
std::string differing_parameter(const std::vector<std::string>& descriptions);

}  // namespace accel::runtime
