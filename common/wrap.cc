#include "common/wrap.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace accel::common {

std::string Wrap(absl::string_view text, size_t columns, size_t indent) {
  const std::string margin(indent, ' ');
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty() || absl::StartsWith(line, " ")) {
      lines.push_back(line.empty() ? "" : absl::StrCat(margin, line));
      continue;
    }
    std::string wrapped = margin;
    for (absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      if (wrapped.size() > indent && wrapped.size() + 1 + word.size() > columns) {
        lines.push_back(std::move(wrapped));
        wrapped = margin;
      }
      absl::StrAppend(&wrapped, wrapped.size() > indent ? " " : "", word);
    }
    lines.push_back(std::move(wrapped));
  }
  return absl::StrJoin(lines, "\n");
}

}  // namespace accel::common
