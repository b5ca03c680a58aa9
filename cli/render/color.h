// Colors of texts for people. Pure: the caller decides whether a text has colors (console.h).
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::cli {

enum class Color : uint8_t { kNone, kBold, kRed, kGreen, kYellow, kBlue };

// Returns `text` between the sequences that begin and end the color.
std::string Painted(absl::string_view text, Color color);

}  // namespace accel::cli
