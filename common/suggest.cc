#include "common/suggest.h"

#include "absl/strings/match.h"
#include "common/edit_distance.h"

namespace accel::common {
namespace {

// Longer words are unlikely to be typos, and edit distance is quadratic in the length.
constexpr size_t kMaxLetters = 64;
constexpr size_t kFewestLetters = 3;  // Minimum length of an abbreviation.

}  // namespace

std::string Nearest(absl::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kMaxLetters) return "";
  std::string nearest;
  size_t least = word.size() / 3 + 1;
  for (const std::string& candidate : known) {
    const size_t distance = common::EditDistance({word.data(), word.size()}, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  if (!nearest.empty() || word.size() < kFewestLetters) return nearest;
  for (const std::string& candidate : known) {
    if (absl::StartsWith(candidate, word)) return candidate;
  }
  return "";
}

}  // namespace accel::common
