// Whether ranks hold the same parameters, told from 64 bits for each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accel/errors.h"

namespace accel {

// The digest of a parameter is the sum, modulo 2^64, of what digest_of_word() makes of its bytes,
// eight at a time in the machine's order, the last ones filled up with zeros. So it can be summed
// up in any order, on a GPU too, where the shift is that of signed numbers.
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

std::uint64_t digest_of(std::span<const std::byte> bytes);

// A parameter on one rank.
struct ParameterDigest {
  std::string text;  // What it is: its name, model, type and shape.
  std::uint64_t bytes = 0;
};

// One number for each parameter, of its text too; and one for all of them, in their order.
std::vector<std::uint64_t> digests_of(const std::vector<ParameterDigest>& parameters);
std::uint64_t combined(const std::vector<std::uint64_t>& digests);

// The first place in which the lists differ, or where the shorter one ends; nothing if they are
// equal.
std::optional<std::size_t> first_difference(const std::vector<std::uint64_t>& mine,
                                            const std::vector<std::uint64_t>& theirs);

// "a.weight of Net: Float [2, 3], with digest 1f...": one parameter, for differing_parameter().
std::string description_of(const ParameterDigest& parameter);

// The error of all ranks, given what each has in the first place where they differ, in rank order.
std::string differing_parameter(const std::vector<std::string>& descriptions);

}  // namespace accel
