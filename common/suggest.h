// "Did you mean …": finds the known word that is nearest to a mistyped one.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::common {

// Returns the nearest known word if at most a third of the letters must change. Otherwise
// returns the first known word that begins with `word`, if that has 3 letters or more, or an
// empty string. Pure.
std::string Nearest(absl::string_view word, const std::vector<std::string>& known);

}  // namespace accel::common
