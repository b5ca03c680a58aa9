// Copies the progress of one rank to all others, at the end of join_uneven_inputs(). A rank that
// has run out of batches made no more optimizer steps. It must continue with the state of the rank
// that made the last step. Parameters and buffers are not part of it, because
// UnevenInputs::finish() has copied them. Nor are loaders, because each rank has read its own data
// to the end.
#pragma once

#include "runtime/checkpoint/run_state.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {

// Copies the states of optimizers, schedulers, accumulation and loss scale in `run` from rank
// `from`, in the formats of a checkpoint. Collective: two broadcasts for each optimizer, and two
// for the rest. Throws what the communication throws, and std::logic_error if the ranks have
// prepared different numbers of schedulers.
void copy_progress(int from, RunState& run, const ProcessState& process);

}  // namespace accel::runtime
