// What a checkpoint keeps of a training run beside its tensors.
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

namespace accel {

struct TrainingState {
  std::uint64_t next_iteration = 0;  // Of the automatically named checkpoints.
  // How many there are: the numbers of files.
  std::size_t models = 0, objects = 0;
  std::vector<std::string> optimizers;  // Their classes.
  std::vector<SchedulerState> schedulers;
  std::vector<LoaderState> loaders;
  AccumulationState accumulation;
  std::optional<LossScaleState> loss_scale;  // None without fp16.

  bool operator==(const TrainingState&) const = default;
};

// The largest text of one that is read, in bytes.
inline constexpr std::uint64_t kMaxTrainingState = 64 << 20;

// As JSON.
std::string training_state_text(const TrainingState& state);

// Throws CheckpointError, naming `file`, if the text is no such state.
TrainingState parse_training_state(const std::string& text, const std::string& file);

// Throws CheckpointError, naming `file`, unless `program` has as many of each thing as `saved`, its
// schedulers and LibTorch's optimizers are of the same kinds, and it has as many steps in a window
// of accumulation if `saved` is inside one. Classes of one's own may have got other names.
void check_same_program(const TrainingState& saved, const TrainingState& program,
                        const std::string& file);

}  // namespace accel
