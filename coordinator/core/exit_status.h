// The meaning of exit records for a job: success, or an exit code. common/exit_text.h describes
// them in words.
#pragma once

#include "proto/job.pb.h"

namespace accel::coordinator {

// The exit code of a job that was cancelled, as if SIGTERM had ended it (docs/decisions/0010).
inline constexpr int kCancelledExitCode = 128 + 15;
// The exit code of a job that ran out of time, as with timeout(1).
inline constexpr int kTimedOutExitCode = 124;

// The codes, as shells use them, for a program or working directory that cannot be executed or
// entered, and for one that does not exist on the node.
inline constexpr int kNotExecutableExitCode = 126;
inline constexpr int kNotFoundExitCode = 127;

// Returns true if the process exited with code 0.
bool IsSuccess(const v1::ExitRecord& exit);

// Returns the exit code of a job that failed because of `exit`: the worker's code, or 128 plus its
// signal; the code of a worker that could not be started (126, 127), or 1 if it has none; 124 for a
// deadline; 1 for a lost node or shim. Never 0.
int JobExitCode(const v1::ExitRecord& exit);

}  // namespace accel::coordinator
