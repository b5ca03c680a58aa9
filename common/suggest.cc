#include "common/suggest.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/match.h"

namespace accel::common {
namespace {

// Returns the number of insertions, deletions and replacements that turn `a` into `b`.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// Longer words are unlikely to be typos, and edit distance is quadratic in the length.
constexpr size_t kMaxLetters = 64;
constexpr size_t kFewestLetters = 3;  // Minimum length of an abbreviation.

}  // namespace

std::string Nearest(absl::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kMaxLetters) return "";
  std::string nearest;
  size_t least = word.size() / 3 + 1;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(word, candidate);
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
