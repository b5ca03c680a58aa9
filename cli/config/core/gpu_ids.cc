#include "cli/config/core/gpu_ids.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace accel::cli {
namespace {

constexpr int kMaxGpuId = 1023;

}  // namespace

absl::StatusOr<std::vector<int>> ParseNumbers(absl::string_view text, int least, int most) {
  std::vector<int> numbers;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    int number = 0;
    if (!absl::SimpleAtoi(part, &number) || number < least || number > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", part, "\" is not a number from ", least, " to ", most));
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::StatusOr<std::vector<int>> ParseGpuIds(absl::string_view text) {
  if (text == "all") return std::vector<int>();
  ACCEL_ASSIGN_OR_RETURN(std::vector<int> ids, ParseNumbers(text, 0, kMaxGpuId));
  std::vector<int> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return ids;
  return absl::InvalidArgumentError(absl::StrCat("GPU ", *twice, " is named twice"));
}

}  // namespace accel::cli
