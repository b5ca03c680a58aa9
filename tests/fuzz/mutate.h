// Makes variants of inputs, for the short run of each fuzz target without libFuzzer.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace accel::fuzz {

// Maximum size of a variant in bytes. tools/fuzz gives libFuzzer the same bound.
inline constexpr size_t kMaxInputBytes = 8192;

// Returns a variant of a random input of `corpus`, after one to four changes: bits flipped, bytes
// inserted, deleted or doubled, a part of another input pasted, or a number at the edge of its
// range written over others. The same state of `random` gives the same variant. `corpus` is not
// empty.
std::string Mutate(const std::vector<std::string>& corpus, std::mt19937_64& random);

}  // namespace accel::fuzz
