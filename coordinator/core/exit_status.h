// What exit records mean for a job: success, or its exit code. common/exit_text.h has the words.
#pragma once

#include "proto/job.pb.h"

namespace accel::coordinator {

// The exit code of a job that was cancelled: as if SIGTERM had ended it.
inline constexpr int kCancelledExitCode = 128 + 15;
// Of a job that ran out of time, as timeout(1) does.
inline constexpr int kTimedOutExitCode = 124;

// What a node lacks of the job: its program or its working directory is not there, or cannot be
// executed. As shells do.
inline constexpr int kNotExecutableExitCode = 126;
inline constexpr int kNotFoundExitCode = 127;

// EXITED with code 0.
bool IsSuccess(const v1::ExitRecord& exit);

// The exit code of a job that failed for this: the worker's code, 128 + its signal, the code of a
// worker that could not be started (126, 127) or 1, 124 for a deadline, 1 for a lost node or shim.
// Never 0.
int JobExitCode(const v1::ExitRecord& exit);

}  // namespace accel::coordinator
