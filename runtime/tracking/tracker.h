#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/tracking/tracked_values.h"

namespace accel {

// Where a run's values go: TensorBoard, a file, or a service through a class of the user's. Called
// on the main process only, from the training thread, in the order below. What a method throws
// costs the values of that call and does not reach the training loop (see TrackerSet).
class Tracker {
 public:
  virtual ~Tracker() = default;

  // By which get_tracker() finds it.
  virtual std::string name() const = 0;

  // Once, before anything is logged.
  virtual void store_init_configuration(const TrackedValues& config) = 0;
  // Values of one step, or of the run as a whole.
  virtual void log(const TrackedValues& values, std::optional<std::int64_t> step) = 0;
  // The end of the run. Nothing is logged after it.
  virtual void finish() = 0;
};

}  // namespace accel
