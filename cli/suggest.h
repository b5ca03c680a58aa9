// "Did you mean": the known word that is nearest to a mistyped one.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace accel {

// Empty if none is near: more than a third of the letters would have to change. Pure.
std::string Nearest(absl::string_view word, const std::vector<std::string>& known);

}  // namespace accel
