// The states of a generation in its shim, when it must be stopped for lack of contact, and when its
// remaining processes must be killed. Pure: no process, no clock, no file. Not thread-safe.
//
// clang-format off
//   kStarting ──exec done on every local rank──▶ kRunning
//       │                                           │
//       │ stop asked, or no worker runs (any more)  │
//       └────────────▶ kStopping ◀──────────────────┘
//                          │ no process is left
//                          ▼
//                       kEnded
// clang-format on
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "shim/core/messages.h"

namespace accel::shim {

class GenerationLife {
 public:
  using State = GenerationReport::State;
  enum class Event { kExecDone, kStopAsked, kWorkersGone, kNothingLeft };

  // Returns the state to which `event` leads, or nullopt if it changes nothing in this state.
  static std::optional<State> Next(State state, Event event);

  // Notes that every local rank has executed its program.
  void ExecDone() { Apply(Event::kExecDone); }

  // Notes that the generation must end, with `grace` between SIGTERM and SIGKILL. Returns true if
  // the caller must send SIGTERM now. That happens only once, and never if SIGKILL is due
  // immediately. Of several graces, the one that ends first counts.
  bool StopAsked(absl::Time now, absl::Duration grace);

  // Notes that no worker is running (any more). All processes that workers have left behind are
  // killed without a grace.
  void WorkersGone(absl::Time now);

  // Sets the longest time without contact with the coordinator, counted from `now`. Once it is
  // over, the generation must be stopped (invariant 4). If infinite, contact is not required.
  void RequireContact(absl::Time now, absl::Duration at_least_every);
  // Notes that there was contact.
  void Contact(absl::Time now);
  // Returns when the generation must be stopped for lack of contact. InfiniteFuture once it is
  // stopping.
  absl::Time fence_at() const;

  // Notes that no process of the generation is left. Has no effect before it is stopping.
  void NothingLeft() { Apply(Event::kNothingLeft); }

  State state() const { return state_; }

  // Returns when all remaining processes must be killed. InfiniteFuture unless it is stopping.
  absl::Time kill_at() const;

 private:
  bool Apply(Event event);

  State state_ = State::kStarting;
  absl::Time kill_at_ = absl::InfiniteFuture();
  absl::Duration longest_silence_ = absl::InfiniteDuration();
  absl::Time contact_;
};

}  // namespace accel::shim
