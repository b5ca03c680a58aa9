// What the ranks of a sharded model agree on after a backward pass. Each rank gives a few numbers,
// and their maxima over the ranks are enough. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace accel::runtime {

// By unit and parameter: true if a gradient of the parameter has arrived. The numbers of units and
// parameters are equal on all ranks.
using ArrivedGradients = std::vector<std::vector<bool>>;

// The result of one pass.
struct AgreedPass {
  bool has_equal_traces;          // True if all ranks have the same digest.
  bool has_recomputed;            // True if any rank has computed activations again.
  ArrivedGradients has_gradient;  // True where any rank has a gradient.
};

// Returns the numbers of this rank, equally many on each rank. `digest` is UnitTrace::digest().
std::vector<std::int64_t> pass_numbers(std::int64_t digest, bool has_recomputed,
                                       const ArrivedGradients& has_gradient);

// Reads the maxima over the ranks of these numbers. `shape` is the `has_gradient` of any rank, of
// which only the sizes count.
AgreedPass agreed_pass(std::span<const std::int64_t> maxima, const ArrivedGradients& shape);

}  // namespace accel::runtime
