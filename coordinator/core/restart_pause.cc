#include "coordinator/core/restart_pause.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace accel::coordinator {
namespace {

// Returns a number from 0 to 1 that depends only on the text: FNV-1a, 32 bits
// (datatracker.ietf.org/doc/html/draft-eastlake-fnv). absl::Hash would give another number
// in each process.
double Fraction(const std::string& text) {
  uint32_t hash = 2166136261;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619;
  return hash / 4294967296.0;
}

}  // namespace

absl::Duration RestartPause(const Limits& limits, const common::JobId& job, int quick_failures) {
  if (quick_failures <= 1) return absl::ZeroDuration();
  absl::Duration pause = limits.first_restart_pause;
  for (int i = 2; i < quick_failures && pause < limits.longest_restart_pause; ++i) pause *= 2;
  pause = std::min(pause, limits.longest_restart_pause);
  const double more = limits.restart_jitter * Fraction(absl::StrCat(job.value(), quick_failures));
  return pause + absl::Milliseconds(absl::ToInt64Milliseconds(pause * more));
}

}  // namespace accel::coordinator
