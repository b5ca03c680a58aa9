#include "runtime/tracking/tensorboard_tracker.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/tracking/tensorboard_events.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "events.out.tfevents.";

WallTime now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Returns the time in the name of the newest event file in `folder`, or 0 if there is none.
std::int64_t newest_time(const fs::path& folder) {
  std::int64_t newest = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    std::int64_t time = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), time);
    newest = std::max(newest, time);
  }
  return newest;
}

// Returns a name that sorts after all existing ones, because TensorBoard reads a folder's files in
// the order of their names and never goes back. The time alone is not enough: a file may be made in
// the same second, or after the clock was set back.
fs::path next_file(const fs::path& folder) {
  fs::create_directories(folder);
  const std::int64_t time = std::max(static_cast<std::int64_t>(now()), newest_time(folder) + 1);
  char digits[24], host[256] = "localhost";
  std::snprintf(digits, sizeof digits, "%010lld", static_cast<long long>(time));
  if (gethostname(host, sizeof host - 1) != 0) std::snprintf(host, sizeof host, "localhost");
  return folder /
         (std::string(kPrefix) + digits + "." + host + "." + std::to_string(getpid()) + ".0");
}

}  // namespace

AppendFile& TensorBoardTracker::file() {
  if (!file_) {
    AppendFile file = AppendFile::create(next_file(folder_));
    file.append(version_record(now()));
    file_ = std::move(file);
  }
  return *file_;
}

void TensorBoardTracker::store_init_configuration(const TrackedValues& config) {
  if (!config.empty()) file().append(config_record(now(), config));
}

void TensorBoardTracker::log(const TrackedValues& values, std::optional<std::int64_t> step) {
  AppendFile& events = file();
  if (step && !has_begun_) {
    events.append(restart_record(now(), *step));
    has_begun_ = true;
  }
  events.append(values_record(now(), values, step));
}

void TensorBoardTracker::finish() {
  if (file_) file_->append(end_record(now()));
}

}  // namespace accel::runtime
