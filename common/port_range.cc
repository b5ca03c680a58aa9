#include "common/port_range.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace accel::common {

std::string PortRange::text() const { return absl::StrCat(first, "-", last); }

absl::StatusOr<PortRange> ParsePortRange(const std::string& text) {
  if (text.empty()) return PortRange{};
  const size_t dash = text.find('-');
  int first = 0;
  int last = 0;
  if (dash == std::string::npos || !absl::SimpleAtoi(text.substr(0, dash), &first) ||
      !absl::SimpleAtoi(text.substr(dash + 1), &last) || first < 1 || last > 65535 ||
      first > last) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text,
                     "\" is not a range of ports: write FIRST-LAST, such as "
                     "29500-29599, with ports from 1 to 65535"));
  }
  return PortRange{static_cast<uint16_t>(first), static_cast<uint16_t>(last)};
}

}  // namespace accel::common
