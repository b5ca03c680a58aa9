// The interface to the job of a launch. Its coordinator is in this process or on another machine.
#pragma once

#include "absl/status/statusor.h"
#include "coordinator/coordinator.h"

namespace accel::cli {

// Not thread-safe: the thread of the launch makes all calls.
class LaunchedJob {
 public:
  virtual ~LaunchedJob() = default;

  // Readable when Get() or signal() may have changed.
  virtual int wake_fd() const = 0;

  // Returns the newest version of the job, or null before the first. An error means that the job
  // cannot be followed to its end; its message is for the user.
  virtual absl::StatusOr<coordinator::JobPtr> Get() = 0;

  // Cancels the job because of this signal, or because its output has no reader (SIGPIPE). If
  // `at_once`, cancels it without grace.
  virtual void Cancel(int signal, bool at_once) = 0;

  // Returns the signal by which another machine has cancelled the job. 0 if there is none.
  virtual int signal() const { return 0; }
};

}  // namespace accel::cli
