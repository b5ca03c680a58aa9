// Decides how long a command keeps calling a coordinator that does not answer.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/console.h"
#include "cli/coordinator_client.h"
#include "common/backoff.h"

namespace accel::cli {

// Time for which a command that prints what there is tolerates the absence of its coordinator.
inline constexpr absl::Duration kReadRetryFor = absl::Minutes(2);
// The same for a command that waits for a job. A job needs no coordinator while it runs, however
// long the absence lasts, so only the user ends the command.
inline constexpr absl::Duration kUntilItIsBack = absl::InfiniteDuration();

// Returns true if the coordinator may have carried out the request, or may do so later.
bool IsWorthARetry(const absl::Status& status);

// Waits between attempts, until `longest`, which may be infinite, has passed since the first
// failure of an outage. Reports the start and the end of each outage. Not thread-safe.
class RetryDeadline {
 public:
  RetryDeadline(absl::Duration longest, CoordinatorClient& client, const Console& console)
      : longest_(longest), client_(client), console_(console) {}

  // Sleeps for the back-off, and then blocks until a connection to the coordinator is established.
  // Returns false if the time is over.
  bool Pause(const absl::Status& why);

  // Notes that the coordinator has accepted the call. The outage is over only if the call then
  // lasts for a second, because a coordinator that is shutting down accepts calls and ends them.
  void Open();
  // Notes that the coordinator has answered, so the outage is over.
  void Renew();

 private:
  absl::Duration left() const;

  const absl::Duration longest_;
  CoordinatorClient& client_;
  const Console& console_;
  bool is_outage_ = false;
  absl::Time give_up_at_;  // Valid during an outage.
  absl::Time opened_at_ = absl::InfiniteFuture();
  bool reported_ = false;  // The outage was reported, but not yet its end.
  common::Backoff backoff_{absl::Milliseconds(20), absl::Seconds(1)};
};

}  // namespace accel::cli
