// The part of a checkpoint that is not tensors (docs/decisions/0016).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/accumulation.h"
#include "runtime/core/epoch_sequence.h"
#include "runtime/core/loss_scale.h"
#include "runtime/core/schedule_counter.h"

namespace accel::runtime {

struct TrainingState {
  std::uint64_t next_iteration = 0;  // The number of the next automatically named checkpoint.
  // The numbers of prepared models and registered objects, each of which has a file.
  std::size_t models = 0, objects = 0;
  std::vector<std::string> optimizers;  // The class names of the prepared optimizers.
  std::vector<SchedulerState> schedulers;
  std::vector<LoaderState> loaders;
  AccumulationState accumulation;
  std::optional<LossScaleState> loss_scale;  // Set only if the run trains in fp16.

  bool operator==(const TrainingState&) const = default;
};

// The largest text that is read, in bytes: 64 MiB.
inline constexpr std::uint64_t kMaxTrainingState = 64 << 20;

// Returns the state as JSON.
std::string training_state_text(const TrainingState& state);

// Reads a state. Throws CheckpointError, naming `file`, if the text is malformed.
TrainingState parse_training_state(const std::string& text, const std::string& file);

// Checks that the running program can continue from `saved`. Throws CheckpointError, naming `file`,
// if the two have different numbers of models, optimizers, schedulers, loaders or objects. Also
// throws it if a scheduler or one of LibTorch's optimizers is of another kind. The same holds if
// num_steps differs while `saved` is inside a window of accumulation. Optimizer classes of the
// program are not compared, because they may have been renamed.
void check_same_program(const TrainingState& saved, const TrainingState& program,
                        const std::string& file);

}  // namespace accel::runtime
