// Accelerator::join_uneven_inputs(): training steps in which some ranks have no batches left.
#pragma once

#include <functional>
#include <optional>

#include "accel/options.h"

namespace accel::runtime {

struct ProcessState;

// Runs `body`, and then takes part in the passes of the other ranks until all have ended. All ranks
// then have the models of a rank that ended last. Returns that rank, or std::nullopt if all ended
// together. Collective. Throws std::logic_error inside another call of run_uneven(), and rethrows
// what `body` throws.
std::optional<int> run_uneven(ProcessState& process, const std::function<void()>& body,
                              const JoinOptions& options);

}  // namespace accel::runtime
