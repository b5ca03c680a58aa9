#include "coordinator/core/job_id.h"

#include <algorithm>
#include <string>

#include "absl/strings/string_view.h"

namespace accel::coordinator {
namespace {

constexpr absl::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr int64_t kEpochUnixSeconds = 1735689600;     // 2025-01-01
constexpr uint64_t kFirst = uint64_t{10} << (7 * 5);  // "a0000000"

}  // namespace

common::JobId JobIdIssuer::Next(absl::Time wall) {
  const int64_t ticks =
      (absl::ToUnixMicros(wall) - kEpochUnixSeconds * 1'000'000) * 1024 / 1'000'000;
  const uint64_t moment = kFirst + static_cast<uint64_t>(std::max<int64_t>(ticks, 0));
  last_ = std::max(moment, last_ + 1);
  std::string text;
  for (uint64_t rest = last_; rest > 0; rest /= 32) text.push_back(kDigits[rest % 32]);
  std::reverse(text.begin(), text.end());
  return common::JobId(std::move(text));
}

void JobIdIssuer::Skip(const common::JobId& known) {
  uint64_t value = 0;
  for (char c : known.value()) {
    const size_t digit = kDigits.find(c);
    if (digit == absl::string_view::npos || known.value().size() > 12) return;
    value = value * 32 + digit;
  }
  last_ = std::max(last_, value);
}

}  // namespace accel::coordinator
