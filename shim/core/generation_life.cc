#include "shim/core/generation_life.h"

#include <algorithm>

namespace accel::shim {

std::optional<GenerationLife::State> GenerationLife::Next(State state, Event event) {
  switch (state) {
    case State::kStarting:
      if (event == Event::kExecDone) return State::kRunning;
      if (event == Event::kStopAsked || event == Event::kWorkersGone) return State::kStopping;
      return std::nullopt;
    case State::kRunning:
      if (event == Event::kStopAsked || event == Event::kWorkersGone) return State::kStopping;
      return std::nullopt;
    case State::kStopping:
      if (event == Event::kNothingLeft) return State::kEnded;
      return std::nullopt;
    case State::kEnded:
      return std::nullopt;
  }
  return std::nullopt;
}

bool GenerationLife::Apply(Event event) {
  const auto next = Next(state_, event);
  if (next.has_value()) state_ = *next;
  return next.has_value();
}

bool GenerationLife::StopAsked(absl::Time now, absl::Duration grace) {
  const bool first = Apply(Event::kStopAsked);
  kill_at_ = std::min(kill_at_, now + grace);
  return first && grace > absl::ZeroDuration();
}

void GenerationLife::WorkersGone(absl::Time now) {
  Apply(Event::kWorkersGone);
  kill_at_ = std::min(kill_at_, now);
}

void GenerationLife::RequireContact(absl::Time now, absl::Duration at_least_every) {
  longest_silence_ = at_least_every;
  contact_ = now;
}

void GenerationLife::Contact(absl::Time now) { contact_ = std::max(contact_, now); }

absl::Time GenerationLife::fence_at() const {
  const bool live = state_ == State::kStarting || state_ == State::kRunning;
  return live ? contact_ + longest_silence_ : absl::InfiniteFuture();
}

absl::Time GenerationLife::kill_at() const {
  return state_ == State::kStopping ? kill_at_ : absl::InfiniteFuture();
}

}  // namespace accel::shim
