// "Did you mean": the known word that is nearest to a mistyped one.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel::cli {

// The nearest, if at most a third of the letters have to change, else the first that `word` (3
// letters or more) begins; empty: none. Pure.
std::string Nearest(absl::string_view word, const std::vector<std::string>& known);

}  // namespace accel::cli
