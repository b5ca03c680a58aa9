// Decides when a shim that must end its work counts as unresponsive: stopped, or blocked by a call
// that never returns. Pure: no process, no clock. Not thread-safe.
//
// A shim that is told to stop answers with a report. If its generation has not ended some time
// after the grace, it is told once more, and killed if it does not answer. A shim that answers is
// left alone, however long it takes: it waits for a process that the kernel does not end, and no
// other process could end it either.
#pragma once

#include "absl/time/time.h"

namespace accel::shim {

class ShimPatience {
 public:
  // `slack` is the time after the grace until it is told again, and the time that
  // its answer may take.
  explicit ShimPatience(absl::Duration slack) : slack_(slack) {}

  // Notes that it has been told to stop its generation. Of several graces, the one that
  // ends first counts.
  void ToldToStop(absl::Time now, absl::Duration grace);
  // Notes that it has been told to exit. It sends no answer to that.
  void ToldToExit(absl::Time now);
  // Notes that a report has arrived from it.
  void Heard(absl::Time now);
  // Notes that nothing is awaited any more: its generation has ended, or a new one starts.
  void Rest();

  enum class Step { kWait, kTellAgain, kKill };
  // Returns what must be done now, each step once. Must be called no later than wake_at().
  Step Due(absl::Time now);
  absl::Time wake_at() const { return due_at_; }

 private:
  const absl::Duration slack_;
  absl::Time due_at_ = absl::InfiniteFuture();
  bool told_again_ = false;
  bool told_to_exit_ = false;
};

}  // namespace accel::shim
