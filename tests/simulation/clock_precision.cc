#include "tests/simulation/clock_precision.h"

#include <iterator>

namespace accel::simulation {
namespace {

// As in coordinator/core/node_clock.cc, and as much again for the drift that really happens.
constexpr int64_t kDriftDivisor = 5'000;

}  // namespace

absl::Duration ClockPrecision::Bound::At(absl::Time time) const {
  return took == absl::InfiniteDuration() ? took : took + (time - since) / kDriftDivisor;
}

void ClockPrecision::Begin(uint64_t stream, absl::Time now) { entries_[now] = {.stream = stream}; }

void ClockPrecision::CameUp(absl::Duration took, absl::Time now) {
  Entry entry = Newest();
  if (took >= entry.up.At(now)) return;
  entry.up = {took, now};
  entries_[now] = entry;
}

void ClockPrecision::WentDown(absl::Duration took, absl::Time now) {
  Entry entry = Newest();
  if (took >= entry.down.At(now)) return;
  entry.down = {took, now};
  entries_[now] = entry;
}

ClockPrecision::Known ClockPrecision::At(absl::Time time) const {
  const auto after = entries_.upper_bound(time);
  if (after == entries_.begin()) return {};
  const Entry& entry = std::prev(after)->second;
  return {entry.stream, entry.up.At(time), entry.down.At(time)};
}

}  // namespace accel::simulation
