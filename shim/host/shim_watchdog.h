// Decides when a shim that must end its work counts as unresponsive: stopped, or blocked by a call
// that never returns. Pure: no process, no clock. Not thread-safe.
//
// A shim that receives a stop answers with a report. If its generation has not ended some time
// after the grace, the stop is sent once more, and the shim is killed if it does not answer. A shim
// that answers is left alone, however long it takes: it waits for a process that the kernel does
// not end, and no other process could end it either. The shim of another user is left alone for ten
// answers only, because that user may let it answer forever.
#pragma once

#include <limits>

#include "absl/time/time.h"

namespace accel::shim {

class ShimWatchdog {
 public:
  // `slack` is the time after the grace until the stop is sent again, and the time that
  // its answer may take.
  explicit ShimWatchdog(absl::Duration slack) : slack_(slack) {}

  static constexpr int kMostAnswersOfUser = 10;
  // Called for the shim of another user.
  void LimitAnswers() { most_answers_ = kMostAnswersOfUser; }

  // Notes that a stop of its generation was sent. Of several graces, the one that
  // ends first counts.
  void StopSent(absl::Time now, absl::Duration grace);
  // Notes that the command to exit was sent. A shim does not answer it.
  void ExitSent(absl::Time now);
  // Notes that a report has arrived from it.
  void ReportReceived(absl::Time now);
  // Notes that nothing is awaited any more: its generation has ended, or a new one starts.
  void Disarm();

  enum class Step { kWait, kSendAgain, kKill };
  // Returns what must be done now, each step once. Must be called no later than wake_at().
  Step Due(absl::Time now);
  absl::Time wake_at() const { return due_at_; }

 private:
  const absl::Duration slack_;
  absl::Time due_at_ = absl::InfiniteFuture();
  bool sent_again_ = false;
  bool exit_sent_ = false;
  int answers_ = 0;  // To stops that were sent again.
  int most_answers_ = std::numeric_limits<int>::max();
};

}  // namespace accel::shim
