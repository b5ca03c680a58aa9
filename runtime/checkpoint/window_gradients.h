// The gradients of an open window of gradient accumulation: a save inside a window keeps what the
// ranks have added up so far (docs/decisions/0016).
//
// They are kept as their mean over the ranks. Every rank of the run that loads them, which may have
// another world size, starts with that mean; the mean over its ranks at the end of the window is
// then what it would have been without the interruption.
#pragma once

#include <filesystem>

#include "runtime/checkpoint/tensor_file.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {

// Returns the mean over the ranks of each gradient of `module`, by the name of its
// parameter. A rank that has no gradient of a parameter counts as zero; parameters without a
// gradient on any rank are left out. Tied parameters occur once. Collective: one all-reduce,
// and one for each gradient.
NamedTensors mean_gradients(const torch::nn::Module& module, const ProcessState& process);

// Sets the gradients of `module` to those in `file`, and clears those that the file does not have.
// Clears all if there is no such file, because then no window was open. Throws CheckpointError if
// the file cannot be read.
void load_gradients(const torch::nn::Module& module, const std::filesystem::path& file);

}  // namespace accel::runtime
