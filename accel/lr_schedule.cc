#include "accel/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace accel {
namespace {

void check(bool holds, const std::string& otherwise) {
  if (!holds) throw std::invalid_argument(otherwise);
}

// Returns a schedule whose factor rises to 1 over the warm-up and then is decay(progress). The
// progress rises from 0 to 1 over the remaining steps, and exceeds 1 after them.
LrSchedule with_warmup(std::int64_t warmup_steps, std::int64_t total_steps,
                       std::function<double(double progress)> decay) {
  check(0 <= warmup_steps && warmup_steps <= total_steps,
        "a warm-up of " + std::to_string(warmup_steps) + " steps does not fit a schedule of " +
            std::to_string(total_steps));
  return lambda_schedule([=, decay = std::move(decay)](std::int64_t step) {
    if (step < warmup_steps) return static_cast<double>(step) / static_cast<double>(warmup_steps);
    const auto length = static_cast<double>(std::max<std::int64_t>(1, total_steps - warmup_steps));
    return decay(static_cast<double>(step - warmup_steps) / length);
  });
}

double anneal(Anneal kind, double from, double to, double share) {
  if (kind == Anneal::kLinear) return (to - from) * share + from;
  return to + (from - to) / 2 * (std::cos(std::numbers::pi * share) + 1);
}

struct Phase {
  double end_step;
  double from_lr, to_lr;
  double from_momentum, to_momentum;
};

std::vector<Phase> phases_of(const OneCycle& o) {
  const double initial = o.max_lr / o.div_factor, least = initial / o.final_div_factor;
  const auto total = static_cast<double>(o.total_steps);
  const double peak = o.pct_start * total - 1;
  std::vector<Phase> phases{{peak, initial, o.max_lr, o.max_momentum, o.base_momentum}};
  if (o.three_phase) {
    phases.push_back(
        {2 * o.pct_start * total - 2, o.max_lr, initial, o.base_momentum, o.max_momentum});
    phases.push_back({total - 1, initial, least, o.max_momentum, o.max_momentum});
  } else {
    phases.push_back({total - 1, o.max_lr, least, o.base_momentum, o.max_momentum});
  }
  return phases;
}

// Returns the phase that contains `step`, and the completed share of that phase. The last phase
// never ends: after its last step the share exceeds 1.
std::pair<Phase, double> phase_at(const std::vector<Phase>& phases, std::int64_t step) {
  const auto at = static_cast<double>(step);
  double start = 0;
  auto phase = phases.begin();
  for (; phase + 1 != phases.end() && at > phase->end_step; ++phase) start = phase->end_step;
  const double length = phase->end_step - start;
  return {*phase, length == 0 ? 1 : (at - start) / length};
}

}  // namespace

LrSchedule lambda_schedule(std::function<double(std::int64_t)> factor) {
  return {.rate = [factor = std::move(factor)](double initial, std::int64_t step) {
    return initial * factor(step);
  }};
}

LrSchedule step_schedule(std::int64_t step_size, double gamma) {
  check(step_size > 0, "step_size should be at least 1");
  return lambda_schedule(
      [=](std::int64_t step) { return std::pow(gamma, static_cast<double>(step / step_size)); });
}

LrSchedule linear_schedule(std::int64_t warmup_steps, std::int64_t total_steps) {
  return with_warmup(warmup_steps, total_steps,
                     [](double progress) { return std::max(0.0, 1 - progress); });
}

LrSchedule cosine_schedule(std::int64_t warmup_steps, std::int64_t total_steps, double cycles) {
  return with_warmup(warmup_steps, total_steps, [=](double progress) {
    return std::max(0.0, 0.5 * (1 + std::cos(std::numbers::pi * cycles * 2 * progress)));
  });
}

LrSchedule one_cycle_schedule(const OneCycle& options) {
  check(options.max_lr > 0, "one-cycle: max_lr should be above 0");
  check(options.total_steps > 0, "one-cycle: total_steps should be at least 1");
  check(0 <= options.pct_start && options.pct_start <= 1,
        "one-cycle: pct_start should be from 0 to 1");
  const std::vector<Phase> phases = phases_of(options);
  LrSchedule schedule{.rate =
                          [=](double, std::int64_t step) {
                            const auto [phase, share] = phase_at(phases, step);
                            return anneal(options.anneal, phase.from_lr, phase.to_lr, share);
                          },
                      .total_steps = options.total_steps};
  if (options.cycle_momentum) {
    schedule.momentum = [=](std::int64_t step) {
      const auto [phase, share] = phase_at(phases, step);
      return anneal(options.anneal, phase.from_momentum, phase.to_momentum, share);
    };
  }
  return schedule;
}

}  // namespace accel
