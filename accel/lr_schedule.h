// Learning rates as functions of the number of steps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace accel {

struct LrSchedule {
  // The learning rate after `step` >= 0 steps of a parameter group that began with `initial`.
  std::function<double(double initial, std::int64_t step)> rate;
  // SGD's momentum, or Adam's beta1; empty: left alone.
  std::function<double(std::int64_t step)> momentum = {};
  // Where the schedule ends; none: never.
  std::optional<std::int64_t> total_steps = {};
};

// initial * factor(step).
LrSchedule lambda_schedule(std::function<double(std::int64_t step)> factor);

// Multiplied by `gamma` every `step_size` > 0 steps.
LrSchedule step_schedule(std::int64_t step_size, double gamma = 0.1);

// From 0 up to the initial rate over `warmup_steps`, then straight down to 0 at `total_steps`.
// Throws std::invalid_argument unless 0 <= warmup_steps <= total_steps; so do those below.
LrSchedule linear_schedule(std::int64_t warmup_steps, std::int64_t total_steps);

// As above, but down on `cycles` waves of a cosine: 0.5 ends at 0.
LrSchedule cosine_schedule(std::int64_t warmup_steps, std::int64_t total_steps,
                           double cycles = 0.5);

enum class Anneal { kCosine, kLinear };

// As torch.optim.lr_scheduler.OneCycleLR: up from max_lr / div_factor to max_lr over the first
// pct_start of the steps, then down to a final_div_factor-th of where it began.
struct OneCycle {
  double max_lr = 0;
  std::int64_t total_steps = 0;  // At least 1.
  double pct_start = 0.3;        // From 0 to 1.
  Anneal anneal = Anneal::kCosine;
  bool cycle_momentum =
      true;  // Against the rate: from max_momentum down to base_momentum and back.
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25;
  double final_div_factor = 1e4;
  bool three_phase = false;  // Down symmetrically first, then to the final rate.
};
LrSchedule one_cycle_schedule(const OneCycle& options);

}  // namespace accel
