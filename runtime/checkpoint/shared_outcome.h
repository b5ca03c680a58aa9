// Runs work that may fail on some ranks, and makes it succeed or throw on all of them. Otherwise a
// rank that succeeds would wait, in its next collective call, for the rank that failed.
#pragma once

#include <functional>

#include "runtime/process/process_state.h"

namespace accel::runtime {

// Runs `body` on rank 0. If it throws, rank 0 rethrows the exception, and the others throw
// CheckpointError with its text. Collective: one broadcast, and another two if it fails.
void run_on_main_rank(const ProcessState& process, const std::function<void()>& body);

// Runs `body` on every rank. If it throws on some ranks, these rethrow their exceptions. The other
// ranks throw CheckpointError with the number and text of the first of them. Collective: one
// all-gather, and another two if it fails.
void run_on_every_rank(const ProcessState& process, const std::function<void()>& body);

}  // namespace accel::runtime
