#include "cli/estimate/core/parse_json.h"

#include <algorithm>

#include "cli/config/core/document.h"

namespace accel::cli {

absl::StatusOr<nlohmann::json> ParseJson(absl::string_view file, absl::string_view text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    const auto* wrong = dynamic_cast<const nlohmann::json::parse_error*>(&error);
    // The byte counts from 1. It is one after the last if the text ends too early.
    const size_t byte = wrong == nullptr ? 1 : std::max<size_t>(wrong->byte, 1);
    const absl::string_view before = text.substr(0, std::min(byte - 1, text.size()));
    const size_t line_start = before.rfind('\n') + 1;  // 0 if there is none.
    const Mark mark = {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
                       1 + static_cast<int>(before.size() - line_start)};
    return ErrorAt(file, mark,
                   byte > text.size() ? "not valid JSON: the text ends too early; copy it again"
                                      : "not valid JSON");
  }
}

}  // namespace accel::cli
