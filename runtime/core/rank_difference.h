// In what the ranks of a world differ, for the error that says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace accel {

// What each rank says of itself, in lines. Nothing if all ranks say the same as rank 0; else the
// first line in which the lowest one of the others differs, as "A on rank 2, and B on rank 0".
// A line that there is not is "nothing more".
std::optional<std::string> rank_difference(const std::vector<std::string>& texts);

}  // namespace accel
