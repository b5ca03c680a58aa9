// The meaning of exit records for a job: success, or an exit code. common/exit_text.h describes
// exit records in words.
#pragma once

#include "proto/job.pb.h"

namespace accel::coordinator {

// The exit code of a job that was cancelled, as if SIGTERM had ended it (docs/decisions/0010).
inline constexpr int kCancelledExitCode = 128 + 15;
// The exit code of a job that ran out of time, as with timeout(1).
inline constexpr int kTimedOutExitCode = 124;

// Exit codes with the meaning that shells give them. 126: a program or working directory that
// cannot be executed or entered. 127: one that does not exist on the node.
inline constexpr int kNotExecutableExitCode = 126;
inline constexpr int kNotFoundExitCode = 127;

// Returns true if the process exited with code 0.
bool IsSuccess(const v1::ExitRecord& exit);

// Returns the exit code of a job that failed because of `exit`. Never 0.
//
// * A worker that exited, or could not be started: its code, or 1 if it is not in 1 to 255.
// * A worker that a signal ended: 128 plus the signal.
// * A deadline: 124.
// * A lost node or shim, or a rank that hangs: 1.
int JobExitCode(const v1::ExitRecord& exit);

}  // namespace accel::coordinator
