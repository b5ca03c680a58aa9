// Accelerator::join_uneven_inputs(): training steps in which some ranks have no batches left.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "accel/options.h"

namespace torch::optim {
class Optimizer;
}

namespace accel {

class Accumulation;
class GradScaler;
class CheckpointedScheduler;
struct ProcessState;

// Runs `body`, and then takes part in the passes of the other ranks until all have ended. Models
// are then those of a rank that ended last, which is returned; std::nullopt if all ended together.
// Collective. Throws std::logic_error inside of itself, and what `body` throws.
std::optional<int> run_uneven(ProcessState& process, const std::function<void()>& body,
                              const JoinOptions& options);

// How far a training is, besides its models.
struct TrainingProgress {
  const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers;
  const std::vector<std::shared_ptr<CheckpointedScheduler>>& schedulers;
  Accumulation& window;
  GradScaler* scaler;  // May be null.
};

// Gives every rank the progress that rank `from` made. Collective: two broadcasts for each
// optimizer, and two for all numbers.
void copy_progress(ProcessState& process, const TrainingProgress& progress, int from);

}  // namespace accel
