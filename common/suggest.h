// "Did you mean …": finds the known word that is nearest to a mistyped one.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::common {

// Returns the nearest known word if at most a third of the letters of `word` must change.
// Otherwise, if `word` has at least 3 letters, returns the first known word that begins with it.
// Otherwise returns "". Pure.
std::string Nearest(absl::string_view word, const std::vector<std::string>& known);

}  // namespace accel::common
