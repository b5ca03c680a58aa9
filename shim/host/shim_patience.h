// When a shim that is to end its work is taken to stand still: stopped, or held by something that
// never returns. Pure: no process, no clock.
//
// A shim that is told to stop answers with a report. One whose generation has not ended some time
// after the grace is told once more, and killed if it does not answer that. One that answers is
// left alone, however long it takes: it waits for a process that the kernel does not end, and
// nobody else could do more.
#pragma once

#include "absl/time/time.h"

namespace accel::shim {

class ShimPatience {
 public:
  // `slack`: how long after the grace it is told again, and how long its answer may take.
  explicit ShimPatience(absl::Duration slack) : slack_(slack) {}

  // It has been told to end its generation. Of several graces the one that runs out first counts.
  void ToldToStop(absl::Time now, absl::Duration grace);
  // It has been told to exit, and has no answer to give.
  void ToldToExit(absl::Time now);
  // A report has come from it.
  void Heard(absl::Time now);
  // Nothing is awaited any more: its generation has ended, or a new one begins.
  void Rest();

  enum class Step { kWait, kTellAgain, kKill };
  // What is due, once. Call it no later than wake_at().
  Step Due(absl::Time now);
  absl::Time wake_at() const { return due_at_; }

 private:
  const absl::Duration slack_;
  absl::Time due_at_ = absl::InfiniteFuture();
  bool told_again_ = false;
  bool told_to_exit_ = false;
};

}  // namespace accel::shim
