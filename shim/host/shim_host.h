// The agent's interface to the shims of its node. Each job has one shim, for all its generations.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "common/unique_fd.h"
#include "process/account.h"
#include "shim/core/messages.h"
#include "shim/core/shim_report.h"

namespace accel::shim {

// Not thread-safe: the thread of the agent's loop makes all calls. No call blocks for
// longer than a spawn.
class ShimHost {
 public:
  virtual ~ShimHost() = default;

  // Takes over the shims that an earlier agent has left, and returns a report about each. Ends the
  // processes that dead shims have left. Must be called once, before any other function. Blocks for
  // a bounded time.
  virtual std::vector<ShimReport> Adopt() = 0;

  // Starts a shim for the job. INTERNAL: the shim could not be started; the message has the path
  // and the reason. ALREADY_EXISTS: the job has a shim.
  virtual absl::Status StartShim(const common::JobId& job) = 0;
  // Starts a shim that runs as `user`, with its workers, and has only the rights of that user
  // (process/become_user.h). The caller must be root. Errors are those of StartShim(), and
  // INVALID_ARGUMENT: the user may not execute accel-shim.
  virtual absl::Status StartShimAs(const common::JobId& job, const process::Account& user) = 0;

  // Returns the uid as which the job's shim was started with StartShimAs(), also if an earlier
  // agent has started it. Returns 0 if it was started with StartShim(), or nullopt if the job has
  // no shim (any more).
  virtual std::optional<uid_t> UserOf(const common::JobId& job) const = 0;

  // Start and stop a generation. A failure to start workers is not returned, but becomes part of
  // a report. If start.serves_store, `store_socket` must be a listening socket. NOT_FOUND: the
  // job has no shim (any more). FAILED_PRECONDITION: the shim is shutting down or cannot be
  // reached, or an earlier generation has not ended. INVALID_ARGUMENT: the start is too large, or
  // lacks its socket. Other errors are those of writing the shim's record. After an error the
  // shim is unchanged. Both calls may be repeated, because the second call for the same
  // generation has no effect.
  virtual absl::Status StartGeneration(const StartCommand& start,
                                       common::UniqueFd store_socket) = 0;
  virtual absl::Status StopGeneration(const StopCommand& stop) = 0;

  // Ends the job: its shim kills all remaining processes and exits. A later report has shim_ended;
  // until then the job cannot have another shim. Ignores unknown jobs.
  virtual void EndShim(const common::JobId& job) = 0;

  // Notes that the coordinator has stored the results of this job's generations, so that a later
  // agent need not report them.
  virtual void Forget(const common::JobId& job) = 0;

  // Notes whether there is contact with the coordinator at present. While there is contact, shims
  // whose jobs require it are regularly notified.
  virtual void SetContact(bool contact) = 0;

  // Returns the changes since the last call, with at most one report for each job.
  virtual std::vector<ShimReport> TakeReports() = 0;

  // Readable when TakeReports() has something to return.
  virtual int wake_fd() const = 0;
};

}  // namespace accel::shim
