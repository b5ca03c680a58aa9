// The distance between two words, for messages that suggest the nearest known one. Pure. Used by
// the CLI and by workers, so it includes only the standard library.
#pragma once

#include <cstddef>
#include <string_view>

namespace accel::common {

// Returns the minimum number of insertions, deletions and replacements that turn `a` into `b`. The
// time is quadratic, so callers must bound the length of words that come from outside.
std::size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace accel::common
