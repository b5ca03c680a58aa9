// The state of a generation in its shim. Also computes when the generation must be stopped for
// lack of contact, and when its remaining processes must be killed. Pure: no process, no clock, no
// file. Not thread-safe.
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
  // the caller must send SIGTERM now. Only the first call returns true, and only if `grace` is not
  // zero. After several calls, the grace that ends first counts.
  bool StopAsked(absl::Time now, absl::Duration grace);

  // Notes that no worker is running (any more). The remaining grace is dropped, so kill_at() is
  // at most `now`.
  void WorkersGone(absl::Time now);

  // Sets the maximum time without contact with the coordinator, and counts it from `now`.
  // When it is over, the generation must be stopped (invariant 4). If it is infinite, contact
  // is not required.
  void RequireContact(absl::Time now, absl::Duration at_least_every);
  // Notes that there was contact at `now`.
  void Contact(absl::Time now);
  // Returns when the generation must be stopped for lack of contact. InfiniteFuture once it is
  // stopping. GenerationProcesses::Tick() compares it with the clock.
  absl::Time fence_at() const;

  // Notes that no process of the generation is left. Has no effect unless the
  // generation is stopping.
  void NothingLeft() { Apply(Event::kNothingLeft); }

  State state() const { return state_; }

  // Returns when all remaining processes must be killed. InfiniteFuture unless the generation is
  // stopping. GenerationProcesses::Tick() compares it with the clock.
  absl::Time kill_at() const;

 private:
  bool Apply(Event event);

  State state_ = State::kStarting;
  absl::Time kill_at_ = absl::InfiniteFuture();
  absl::Duration longest_silence_ = absl::InfiniteDuration();
  absl::Time contact_;
};

}  // namespace accel::shim
