#include "cli/render/color.h"

#include "absl/strings/str_cat.h"

namespace accel::cli {
namespace {

const char* CodeOf(Color color) {
  switch (color) {
    case Color::kNone:
      break;
    case Color::kBold:
      return "1";
    case Color::kRed:
      return "31";
    case Color::kGreen:
      return "32";
    case Color::kYellow:
      return "33";
    case Color::kBlue:
      return "34";
  }
  return "0";
}

}  // namespace

std::string Painted(absl::string_view text, Color color) {
  if (color == Color::kNone) return std::string(text);
  return absl::StrCat("\x1b[", CodeOf(color), "m", text, "\x1b[0m");
}

}  // namespace accel::cli
