// The agent's door to the shims of its node. One shim for each job, for all its generations.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "common/unique_fd.h"
#include "shim/core/messages.h"
#include "shim/core/shim_report.h"

namespace accel::shim {

// Not thread-safe: one thread, the agent's loop, calls all of it. No call blocks for longer than a
// spawn.
class ShimHost {
 public:
  virtual ~ShimHost() = default;

  // INTERNAL: the shim could not be started, with the path and the reason. ALREADY_EXISTS: the job
  // has one.
  virtual absl::Status StartShim(const common::JobId& job) = 0;

  // Failures to start workers come back as a report. `store_socket` listens, if start.serves_store.
  // NOT_FOUND: the job has no shim (any more). FAILED_PRECONDITION: its shim was told to end, or an
  // earlier generation has not ended. INVALID_ARGUMENT: the start is too large, or lacks its
  // socket. The shim stays as it is. Both calls may be repeated: a known generation is left as it
  // is.
  virtual absl::Status StartGeneration(const GenerationStart& start,
                                       common::UniqueFd store_socket) = 0;
  virtual absl::Status StopGeneration(const GenerationStop& stop) = 0;

  // The job is over: its shim kills what may be left and exits, which a report says when it is
  // done; until then the job cannot have another. Unknown jobs are ignored.
  virtual void EndShim(const common::JobId& job) = 0;

  // What has changed since the last call; at most one report for each job.
  virtual std::vector<ShimReport> TakeReports() = 0;

  // Readable when TakeReports() has something.
  virtual int wake_fd() const = 0;
};

}  // namespace accel::shim
