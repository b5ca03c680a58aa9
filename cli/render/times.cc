#include "cli/render/times.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace accel::cli {
namespace {

// Returns "3 min 5 s": two units, without the second one if it is 0.
std::string TwoUnits(int64_t amount, int64_t per_unit, absl::string_view unit,
                     absl::string_view part) {
  const int64_t rest = amount % per_unit;
  return rest == 0 ? absl::StrCat(amount / per_unit, " ", unit)
                   : absl::StrCat(amount / per_unit, " ", unit, " ", rest, " ", part);
}

}  // namespace

std::string DurationText(absl::Duration duration) {
  if (duration <= absl::ZeroDuration()) return "0 s";
  if (duration < absl::Seconds(10)) {
    return absl::StrFormat("%.1f s", absl::ToDoubleSeconds(duration));
  }
  const int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 60) return absl::StrCat(seconds, " s");
  if (seconds < 3600) return TwoUnits(seconds, 60, "min", "s");
  if (seconds < 24 * 3600) return TwoUnits(seconds / 60, 60, "h", "min");
  return TwoUnits(seconds / 3600, 24, "d", "h");
}

std::string AgoText(absl::Time then, absl::Time now) {
  const int64_t seconds = absl::ToInt64Seconds(now - then);
  if (seconds < 1) return "just now";
  if (seconds < 60) return absl::StrCat(seconds, " s ago");
  if (seconds < 3600) return absl::StrCat(seconds / 60, " min ago");
  if (seconds < 24 * 3600) return absl::StrCat(seconds / 3600, " h ago");
  return absl::StrCat(seconds / (24 * 3600), " d ago");
}

std::string BytesText(int64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double amount = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    unit = next;
    amount /= 1024;
    if (amount < 1024) break;
  }
  return absl::StrFormat("%.1f %s", amount, unit);
}

}  // namespace accel::cli
