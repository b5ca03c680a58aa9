// The exit code of a program that ends without having seen that its results are invalid.
//
// A call between GPUs that fails throws at the program's next call (queued_calls.h). A program that
// makes no further call would return 0 from main(), after it has read results that never arrived.
#pragma once

namespace accel::runtime {

// Prepares fail_at_exit(), and must be called early. exit() runs first what was registered last, so
// the destructors of later static objects still run before the exit code changes. Thread-safe.
void watch_exit_code();

// Changes the exit code of this process to 1 if it would be 0.
void fail_at_exit();

}  // namespace accel::runtime
