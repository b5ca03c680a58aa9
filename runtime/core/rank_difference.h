// Finds the first difference between the ranks of a world, for the text of the error
// that reports it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace accel::runtime {

// Compares texts of several lines, one per rank in rank order. Returns nullopt if all are equal.
// Otherwise returns the first line in which the lowest differing rank and rank 0 differ, as
// "A on rank 2, and B on rank 0". If a text has no such line, it says "nothing more" instead.
std::optional<std::string> rank_difference(const std::vector<std::string>& texts);

}  // namespace accel::runtime
