// Decides when a shim that must end its work counts as unresponsive. Such a shim is stopped by a
// signal, or blocked in a call that never returns. Pure: no process, no clock. Not thread-safe.
//
// A shim that receives a stop answers with a report. If its generation has not ended some time
// after the grace, the stop is sent again. The shim is killed if it does not answer that stop. If
// it answers, the same is repeated after a while. Such a shim waits for a process that the kernel
// does not end, so killing the shim would not help. The shim of another user is killed after ten
// answers, because that user could make it answer forever.
#pragma once

#include <limits>

#include "absl/time/time.h"

namespace accel::shim {

class ShimWatchdog {
 public:
  // `slack` is the time after the grace until the stop is sent again. It is also the maximum time
  // for the answer to that stop.
  explicit ShimWatchdog(absl::Duration slack) : slack_(slack) {}

  static constexpr int kMostAnswersOfUser = 10;
  // Bounds the number of answers. Called for the shim of another user.
  void LimitAnswers() { most_answers_ = kMostAnswersOfUser; }

  // Notes that a stop of the shim's generation was sent. After several stops, the grace that
  // ends first counts.
  void StopSent(absl::Time now, absl::Duration grace);
  // Notes that the command to exit was sent. A shim does not answer this command, so it is killed
  // if it has not exited after twice the slack.
  void ExitSent(absl::Time now);
  // Notes that a report of the shim has arrived.
  void ReportReceived(absl::Time now);
  // Notes that no answer is awaited any more, because the generation has ended or a new one starts.
  // Has no effect after ExitSent().
  void Disarm();

  enum class Step { kWait, kSendAgain, kKill };
  // Returns the step that is due now. Returns each step only once. Must be called no
  // later than wake_at().
  Step Due(absl::Time now);
  absl::Time wake_at() const { return due_at_; }

 private:
  const absl::Duration slack_;
  absl::Time due_at_ = absl::InfiniteFuture();
  bool sent_again_ = false;
  bool exit_sent_ = false;
  int answers_ = 0;  // Number of answers to stops that were sent again.
  int most_answers_ = std::numeric_limits<int>::max();
};

}  // namespace accel::shim
