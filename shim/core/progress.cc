#include "shim/core/progress.h"

#include <algorithm>
#include <tuple>

namespace accel::shim {
namespace {

constexpr int kTimesLongest = 3;
constexpr double kTimesIfWaiting = 1.5;

// The hang timeout is divided into this many looks, so that a hang is found soon after its limit.
constexpr int kLooksPerTimeout = 8;
constexpr absl::Duration kLookAtLeastEvery = absl::Seconds(1);
// A call that is later than this was late because this process did not run.
constexpr absl::Duration kLate = absl::Seconds(1);

bool IsStopped(char state) { return state == 'T' || state == 't'; }

}  // namespace

Progress::Progress(absl::Duration hang_timeout, const std::vector<int>& ranks, absl::Time now)
    : hang_timeout_(hang_timeout),
      look_every_(std::min(hang_timeout / kLooksPerTimeout, kLookAtLeastEvery)),
      awake_at_(now) {
  for (const int rank : ranks) ranks_[rank].silent_since = now;
}

void Progress::Awake(absl::Time now) {
  const absl::Duration absence = now - look_at();
  awake_at_ = std::max(awake_at_, now);
  if (absence <= kLate) return;
  for (auto& [number, rank] : ranks_) rank.silent_since += absence;
}

void Progress::Beat(int rank, absl::Time now) {
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) return;
  // Only Look() moves the next look, because a look must not be put off by beats.
  if (now - look_at() > kLate) Awake(now);
  Rank& beating = found->second;
  const absl::Duration silence = now - beating.silent_since;
  // The time from the start to the first beat is no step. It stands in for one until the second
  // beat, because nothing else is known then. A pause is no step either.
  if (!beating.pauses || beating.beats == 0) {
    beating.longest_silence =
        beating.beats == 2 ? std::max(beating.longest_silence, silence) : silence;
    beating.beats = std::min(beating.beats + 1, 2);
  }
  beating.last_beat = beating.silent_since = now;
  beating.waits = beating.pauses = false;
}

void Progress::Waits(int rank) {
  const auto found = ranks_.find(rank);
  if (found != ranks_.end()) found->second.waits = true;
}

void Progress::Pauses(int rank) {
  const auto found = ranks_.find(rank);
  if (found != ranks_.end()) found->second.pauses = true;
}

absl::Duration Progress::LimitOf(const Rank& rank) const {
  if (rank.pauses) return absl::InfiniteDuration();
  const absl::Duration limit = std::max(hang_timeout_, kTimesLongest * rank.longest_silence);
  return rank.waits ? limit * kTimesIfWaiting : limit;
}

std::optional<Hang> Progress::Look(absl::Time now, const StateOf& state_of) {
  Awake(now);
  const auto silence_of = [now](const Rank& rank) { return now - rank.silent_since; };
  std::optional<Hang> first;
  for (const auto& [number, rank] : ranks_) {
    if (!rank.last_beat || silence_of(rank) < LimitOf(rank)) continue;
    const char state = state_of(number);
    if (state == 0) continue;
    if (first && std::tie(first->waits, *first->last_beat) <= std::tie(rank.waits, *rank.last_beat))
      continue;
    first = Hang{number, rank.last_beat, silence_of(rank), state, rank.waits};
  }
  if (!first || IsStopped(first->state)) return first;
  // A rank that was stopped only a moment ago did not make the others wait.
  for (const auto& [number, rank] : ranks_) {
    if (rank.last_beat && silence_of(rank) < first->silence / 2) continue;
    const char state = state_of(number);
    if (!IsStopped(state)) continue;
    return Hang{number, rank.last_beat, rank.last_beat ? silence_of(rank) : first->silence, state,
                rank.waits};
  }
  return first;
}

}  // namespace accel::shim
