#include "runtime/tracking/tracker_set.h"

#include <exception>
#include <iostream>
#include <stdexcept>

#include "runtime/tracking/json_lines_tracker.h"
#include "runtime/tracking/tensorboard_tracker.h"

namespace accel::runtime {
namespace {

// Stands for a tracker on processes that do not report.
class SilentTracker : public Tracker {
 public:
  explicit SilentTracker(std::string name) : name_(std::move(name)) {}
  std::string name() const override { return name_; }
  void store_init_configuration(const TrackedValues&) override {}
  void log(const TrackedValues&, std::optional<std::int64_t>) override {}
  void finish() override {}

 private:
  const std::string name_;
};

std::string name_of(const TrackerChoice& choice) {
  if (const auto* own = std::get_if<std::shared_ptr<Tracker>>(&choice.get())) return (*own)->name();
  const std::string& name = std::get<std::string>(choice.get());
  if (name == "tensorboard" || name == "jsonl") return name;
  throw std::invalid_argument("log_with: \"" + name +
                              "\" should be tensorboard, jsonl or an accel::Tracker of your own");
}

void require_folder(const TrackerChoice& choice, const std::filesystem::path& folder) {
  if (!folder.empty() || std::holds_alternative<std::shared_ptr<Tracker>>(choice.get())) return;
  throw std::invalid_argument("log_with: " + name_of(choice) +
                              " writes files: set project.logging_dir or project.project_dir");
}

std::shared_ptr<Tracker> make_tracker(const TrackerChoice& choice,
                                      const std::filesystem::path& folder) {
  if (const auto* own = std::get_if<std::shared_ptr<Tracker>>(&choice.get())) return *own;
  if (name_of(choice) == "jsonl") return std::make_shared<JsonLinesTracker>(folder);
  return std::make_shared<TensorBoardTracker>(folder);
}

}  // namespace

TrackerSet::TrackerSet(const std::vector<TrackerChoice>& choices, bool writes) : writes_(writes) {
  for (const TrackerChoice& choice : choices) {
    std::string name = name_of(choice);
    for (const Entry& entry : trackers_) {
      if (entry.name == name) throw std::invalid_argument("log_with names " + name + " twice");
    }
    trackers_.push_back({choice, std::move(name), nullptr});
  }
}

void TrackerSet::note_failure(Entry& entry, const char* what) {
  if (entry.failures++ > 0) return;
  std::cerr << "accel: tracker " << entry.name << ": " << what << "; training continues"
            << std::endl;
}

template <typename Call>
void TrackerSet::each(const Call& call) {
  for (Entry& entry : trackers_) {
    if (entry.tracker == nullptr) throw std::logic_error("call init_trackers() before log()");
    try {
      call(*entry.tracker);
    } catch (const std::exception& error) {
      note_failure(entry, error.what());
    } catch (...) {
      note_failure(entry, "threw an exception that is no std::exception");
    }
  }
}

void TrackerSet::start(const std::filesystem::path& folder, const TrackedValues& config) {
  // Checked on every process, so that a mistake of the program is an error on all processes.
  // Checked for all trackers before the first is made, because a run has either all of its trackers
  // or none.
  for (const Entry& entry : trackers_) require_folder(entry.choice, folder);
  finish();
  for (Entry& entry : trackers_) {
    entry.failures = 0;
    if (writes_) {
      entry.tracker = make_tracker(entry.choice, folder);
    } else {
      entry.tracker = std::make_shared<SilentTracker>(entry.name);
    }
  }
  each([&](Tracker& tracker) { tracker.store_init_configuration(config); });
}

void TrackerSet::log(const TrackedValues& values, std::optional<std::int64_t> step) {
  each([&](Tracker& tracker) { tracker.log(values, step); });
}

void TrackerSet::finish() {
  if (trackers_.empty() || trackers_.front().tracker == nullptr) return;
  each([](Tracker& tracker) { tracker.finish(); });
  for (Entry& entry : trackers_) {
    entry.tracker = nullptr;
    if (entry.failures == 0) continue;
    std::cerr << "accel: tracker " << entry.name << " lost the values of " << entry.failures
              << " calls" << std::endl;
  }
}

Tracker& TrackerSet::get(const std::string& name) const {
  std::string present;
  for (const Entry& entry : trackers_) {
    if (entry.name == name) {
      if (entry.tracker == nullptr)
        throw std::logic_error("call init_trackers() before get_tracker()");
      return *entry.tracker;
    }
    present += (present.empty() ? "" : ", ") + entry.name;
  }
  throw std::invalid_argument("log_with has no tracker \"" + name + "\"; it has " +
                              (present.empty() ? "none" : present));
}

}  // namespace accel::runtime
