#include "rendezvous/core/decimal.h"

#include <charconv>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace accel::rendezvous {

std::optional<int64_t> ParseLeadingInt64(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  // from_chars() accepts a minus sign but no plus sign, so "+" is removed here.
  if (absl::ConsumePrefix(&text, "+") && absl::StartsWith(text, "-")) return std::nullopt;
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

}  // namespace accel::rendezvous
