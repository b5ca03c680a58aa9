// Learning rate schedules: rate and momentum as functions of the number of steps. Schedules
// have no state.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace accel {

// A learning rate, and optionally a momentum, for each step of a training.
struct LrSchedule {
  // Returns the learning rate after `step` >= 0 steps, for a parameter group whose initial
  // rate was `initial`.
  std::function<double(double initial, std::int64_t step)> rate;
  // Returns SGD's momentum, or Adam's beta1. If empty, the schedule leaves it unchanged.
  std::function<double(std::int64_t step)> momentum = {};
  // Length of the schedule in steps. nullopt if it never ends.
  std::optional<std::int64_t> total_steps = {};
};

// Returns the schedule initial * factor(step).
LrSchedule lambda_schedule(std::function<double(std::int64_t step)> factor);

// Returns a schedule that multiplies the rate by `gamma` every `step_size` steps. Throws
// std::invalid_argument if step_size < 1.
LrSchedule step_schedule(std::int64_t step_size, double gamma = 0.1);

// Returns a schedule that rises linearly from 0 to the initial rate over `warmup_steps`, then falls
// linearly to 0 at `total_steps` and remains 0. Throws std::invalid_argument if warmup_steps is
// negative or exceeds total_steps.
LrSchedule linear_schedule(std::int64_t warmup_steps, std::int64_t total_steps);

// Returns the same schedule as linear_schedule(), but the rate falls along `cycles` periods of a
// cosine. The default, half a period, ends at 0. After `total_steps` the cosine continues, so the
// rate rises again.
LrSchedule cosine_schedule(std::int64_t warmup_steps, std::int64_t total_steps,
                           double cycles = 0.5);

enum class Anneal { kCosine, kLinear };

// The arguments of torch.optim.lr_scheduler.OneCycleLR. The rate begins at max_lr / div_factor, and
// rises to max_lr over the first pct_start of the steps. Then it falls until it is the first rate
// divided by final_div_factor.
struct OneCycle {
  double max_lr = 0;             // Above 0.
  std::int64_t total_steps = 0;  // At least 1.
  double pct_start = 0.3;        // From 0 to 1: a share of the steps, not a percentage.
  Anneal anneal = Anneal::kCosine;
  // If true, the momentum moves against the rate: from max_momentum to base_momentum and back.
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25;
  double final_div_factor = 1e4;
  // If true, the rate falls to its first value in as many steps as it rose, and then to the final
  // rate. If false, it falls to the final rate in one phase.
  bool three_phase = false;
};
// Returns the schedule. Throws std::invalid_argument with the name of an option that is
// out of range.
LrSchedule one_cycle_schedule(const OneCycle& options);

}  // namespace accel
