// Trackers, the destinations of a run's values: used by AcceleratorOptions::log_with,
// Accelerator::init_trackers() and Accelerator::log(). Includes nothing of LibTorch.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace accel {

// A number, a boolean or a string.
class TrackedValue {
 public:
  using Variant = std::variant<bool, std::int64_t, double, std::string>;

  TrackedValue(bool value) : value_(value) {}
  template <std::integral Integer>
  TrackedValue(Integer value) : value_(static_cast<std::int64_t>(value)) {}
  template <std::floating_point Float>
  TrackedValue(Float value) : value_(static_cast<double>(value)) {}
  TrackedValue(const char* text) : value_(std::string(text)) {}
  TrackedValue(std::string text) : value_(std::move(text)) {}

  const Variant& get() const { return value_; }

 private:
  Variant value_;
};

// The values that a run reports, by name.
using TrackedValues = std::map<std::string, TrackedValue>;

// A destination of a run's values: TensorBoard, a file, or a service through a class of
// your own. Only the main process calls it, from the training thread, in the order of the
// methods below. If a method throws, the values of that call are lost, and the training
// loop continues (docs/decisions/0020).
class Tracker {
 public:
  virtual ~Tracker() = default;

  // Returns the name by which Accelerator::get_tracker() finds this tracker.
  virtual std::string name() const = 0;

  // Called once, before anything is logged.
  virtual void store_init_configuration(const TrackedValues& config) = 0;
  // Logs values of one step, or of the run as a whole if `step` is std::nullopt.
  virtual void log(const TrackedValues& values, std::optional<std::int64_t> step) = 0;
  // Ends the run. Nothing is logged after it.
  virtual void finish() = 0;
};

// A tracker that a run reports to: "tensorboard", "jsonl", or an object of your own class.
class TrackerChoice {
 public:
  TrackerChoice(const char* name) : choice_(std::string(name)) {}
  TrackerChoice(std::string name) : choice_(std::move(name)) {}
  template <typename Own>
  TrackerChoice(std::shared_ptr<Own> tracker)
      : choice_(std::shared_ptr<Tracker>(std::move(tracker))) {}

  const std::variant<std::string, std::shared_ptr<Tracker>>& get() const { return choice_; }

 private:
  std::variant<std::string, std::shared_ptr<Tracker>> choice_;
};

}  // namespace accel
