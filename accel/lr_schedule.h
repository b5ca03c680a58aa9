// Learning rates as functions of the number of steps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace accel {

// A learning rate, and a momentum where it has one, for each step of a training.
struct LrSchedule {
  // The learning rate after `step` >= 0 steps of a parameter group that began with `initial`.
  std::function<double(double initial, std::int64_t step)> rate;
  // The momentum of SGD or beta1 of Adam. If empty, they are left alone.
  std::function<double(std::int64_t step)> momentum = {};
  // How many steps the schedule has. If unset, it never ends.
  std::optional<std::int64_t> total_steps = {};
};

// The rate is initial * factor(step).
LrSchedule lambda_schedule(std::function<double(std::int64_t step)> factor);

// The rate is multiplied by `gamma` every `step_size` steps. Throws std::invalid_argument unless
// step_size > 0.
LrSchedule step_schedule(std::int64_t step_size, double gamma = 0.1);

// The rate rises linearly from 0 to the initial rate over `warmup_steps`, then falls linearly to 0
// at `total_steps`. Throws std::invalid_argument unless 0 <= warmup_steps <= total_steps.
LrSchedule linear_schedule(std::int64_t warmup_steps, std::int64_t total_steps);

// The same, but the rate falls along `cycles` waves of a cosine; half a wave ends at 0.
LrSchedule cosine_schedule(std::int64_t warmup_steps, std::int64_t total_steps,
                           double cycles = 0.5);

enum class Anneal { kCosine, kLinear };

// The options of torch.optim.lr_scheduler.OneCycleLR. The rate rises from max_lr / div_factor to
// max_lr over the first pct_start of the steps, then falls to 1 / final_div_factor of the rate at
// which it began.
struct OneCycle {
  double max_lr = 0;
  std::int64_t total_steps = 0;  // At least 1.
  double pct_start = 0.3;        // From 0 to 1.
  Anneal anneal = Anneal::kCosine;
  // The momentum moves against the rate, from max_momentum down to base_momentum and back.
  bool cycle_momentum = true;
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25;
  double final_div_factor = 1e4;
  // The rate first falls as it rose, to where it began, and then to the final rate.
  bool three_phase = false;
};
// Throws std::invalid_argument if an option is out of range.
LrSchedule one_cycle_schedule(const OneCycle& options);

}  // namespace accel
