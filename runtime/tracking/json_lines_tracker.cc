#include "runtime/tracking/json_lines_tracker.h"

#include <chrono>
#include <string>

#include "runtime/tracking/tracked_json.h"

namespace accel::runtime {

void JsonLinesTracker::store_init_configuration(const TrackedValues& config) {
  append("\"config\":" + to_json(config));
}

void JsonLinesTracker::log(const TrackedValues& values, std::optional<std::int64_t> step) {
  append((step ? "\"step\":" + std::to_string(*step) + "," : "") + "\"values\":" + to_json(values));
}

void JsonLinesTracker::append(const std::string& fields) {
  if (!file_) file_ = AppendFile::open_lines(path_);
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  file_->append("{\"time\":" + to_json(TrackedValue(now.count())) + "," + fields + "}\n");
}

}  // namespace accel::runtime
