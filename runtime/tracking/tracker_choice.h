#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "runtime/tracking/tracker.h"

namespace accel {

// One of the trackers that a run reports to: "tensorboard", "jsonl", or an object of one's own.
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
