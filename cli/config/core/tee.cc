#include "cli/config/core/tee.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace accel::cli {
namespace {

constexpr int kOut = 1;
constexpr int kErr = 2;
constexpr uint32_t kMaxLocalRank = 65'535;

std::optional<int> ParseStreams(absl::string_view text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '3') return std::nullopt;
  return text[0] - '0';
}

}  // namespace

std::optional<Tee> Tee::Parse(absl::string_view text) {
  Tee tee;
  if (const auto streams = ParseStreams(text)) {
    tee.of_all_ = *streams;
    return tee;
  }
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> rank_and_streams =
        absl::StrSplit(part, absl::MaxSplits(':', 1));
    uint32_t rank = 0;
    const std::optional<int> streams = ParseStreams(rank_and_streams.second);
    const bool is_rank = absl::SimpleAtoi(rank_and_streams.first, &rank) && rank <= kMaxLocalRank;
    if (!is_rank || !streams) return std::nullopt;
    tee.of_rank_[static_cast<int>(rank)] = *streams;
  }
  return tee;
}

bool Tee::Has(int local_rank, bool is_stdout) const {
  const auto found = of_rank_.find(local_rank);
  const int streams = found == of_rank_.end() ? of_all_ : found->second;
  return (streams & (is_stdout ? kOut : kErr)) != 0;
}

}  // namespace accel::cli
