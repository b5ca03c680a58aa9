#include "runtime/core/loss_scale.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace accel::runtime {
namespace {

void expect(bool holds, const char* option, double value, const char* should) {
  if (holds) return;
  throw std::invalid_argument(std::string("loss_scaling.") + option + " = " +
                              std::to_string(value) + " should be " + should);
}

bool usable(double scale) { return scale > 0 && std::isfinite(static_cast<float>(scale)); }

}  // namespace

DynamicLossScale::DynamicLossScale(const LossScalingOptions& options) : options_(options) {
  expect(usable(options.init_scale), "init_scale", options.init_scale, "positive and finite");
  expect(options.growth_factor > 1, "growth_factor", options.growth_factor, "above 1");
  expect(0 < options.backoff_factor && options.backoff_factor < 1, "backoff_factor",
         options.backoff_factor, "between 0 and 1");
  expect(options.growth_interval >= 1, "growth_interval",
         static_cast<double>(options.growth_interval), "at least 1");
  state_.scale = static_cast<float>(options.init_scale);
}

void DynamicLossScale::update(bool found_inf) {
  if (found_inf) {
    const auto less = static_cast<float>(state_.scale * options_.backoff_factor);
    if (less > 0) state_.scale = less;
    state_.growth_tracker = 0;
  } else if (++state_.growth_tracker >= options_.growth_interval) {
    const auto grown = static_cast<float>(state_.scale * options_.growth_factor);
    if (std::isfinite(grown)) state_.scale = grown;
    state_.growth_tracker = 0;
  }
}

void DynamicLossScale::set_state(const LossScaleState& state) {
  if (!usable(state.scale) || state.growth_tracker < 0) {
    throw std::invalid_argument("invalid loss scale state: scale " + std::to_string(state.scale) +
                                ", growth_tracker " + std::to_string(state.growth_tracker) +
                                ": the scale should be positive and finite, the count at least 0");
  }
  state_ = state;
}

}  // namespace accel::runtime
