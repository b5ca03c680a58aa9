#include "agent/output_limit.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace accel::agent {
namespace {

// Minimum limit. One job with a few ranks needs about this much.
constexpr int64_t kLeastOutput = int64_t{64} << 20;

constexpr std::pair<absl::string_view, double> kUnits[] = {
    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
    {"KB", 1e3},     {"MB", 1e6},        {"GB", 1e9},           {"TB", 1e12},
};

}  // namespace

absl::StatusOr<int64_t> ParseOutputLimit(absl::string_view text, int64_t disk_bytes) {
  const std::string shown(text);
  const absl::Status wrong =
      absl::InvalidArgumentError("it must look like 20GiB, 500MB or 10%, and be at least 64MiB");
  double unit = 1;
  const bool percent = absl::ConsumeSuffix(&text, "%");
  if (percent) unit = static_cast<double>(disk_bytes) / 100;
  bool has_unit = percent;
  for (const auto& [suffix, bytes] : kUnits) {
    if (has_unit || !absl::ConsumeSuffix(&text, suffix)) continue;
    unit = bytes;
    has_unit = true;
  }
  double number = 0;
  // These comparisons are false for "nan", so it is refused.
  const bool ok = absl::SimpleAtod(text, &number) && number > 0 && number * unit <= 1e18;
  if (!has_unit || !ok || (percent && number > 100)) return wrong;
  const auto bytes = static_cast<int64_t>(number * unit);
  if (!percent && bytes < kLeastOutput) return wrong;
  if (shown == kDefaultOutputLimit) return std::clamp(bytes, kLeastOutput, kMaxDefaultOutput);
  return std::max(bytes, kLeastOutput);
}

absl::StatusOr<int64_t> DiskBytes(const std::string& folder) {
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0) {
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("Cannot find out the size of the disk of ", folder));
  }
  return static_cast<int64_t>(disk.f_blocks) * static_cast<int64_t>(disk.f_frsize);
}

}  // namespace accel::agent
