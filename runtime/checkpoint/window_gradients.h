// The gradients of an open window of gradient accumulation. A save inside a window keeps the
// gradients that the ranks have added up so far (docs/decisions/0016).
//
// They are saved as their mean over the ranks. Every rank of the run that loads them starts with
// that mean, and their number may differ. At the end of the window, the mean over these ranks is
// what it would have been without the interruption.
#pragma once

#include <filesystem>

#include "runtime/checkpoint/tensor_file.h"
#include "runtime/process/process_state.h"

namespace accel::runtime {

// Returns the mean over the ranks of each gradient of `module`, by the name of its
// parameter. A rank that has no gradient of a parameter counts as zero. Parameters without a
// gradient on any rank are left out. Tied parameters occur once. Collective: one all-reduce,
// and one for each gradient.
NamedTensors mean_gradients(const torch::nn::Module& module, const ProcessState& process);

// Sets the gradients of `module` to those in `file`, and clears the gradients that the file does
// not have. If there is no such file, clears all, because then no window was open. Throws
// CheckpointError if the file cannot be read.
void load_gradients(const torch::nn::Module& module, const std::filesystem::path& file);

}  // namespace accel::runtime
