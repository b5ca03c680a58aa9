// What becomes of a generation in its shim, as a function: no process, no clock, no file.
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

  // Where `event` leads; nothing if it changes nothing in this state.
  static std::optional<State> Next(State state, Event event);

  // Every local rank has executed its program.
  void ExecDone() { Apply(Event::kExecDone); }

  // Someone wants it ended, with `grace` between TERM and KILL. True if the workers are to have
  // their TERM now: once, and not when the KILL is due at once. Of several graces the one that runs
  // out first counts.
  bool StopAsked(absl::Time now, absl::Duration grace);

  // No worker runs (any more); what they have left behind is to be killed.
  void WorkersGone(absl::Time now);

  // No process of it is left. Means nothing before it is stopping.
  void NothingLeft() { Apply(Event::kNothingLeft); }

  State state() const { return state_; }

  // While stopping: when everything left is to be killed. Otherwise never.
  absl::Time kill_at() const;

 private:
  bool Apply(Event event);

  State state_ = State::kStarting;
  absl::Time kill_at_ = absl::InfiniteFuture();
};

}  // namespace accel::shim
