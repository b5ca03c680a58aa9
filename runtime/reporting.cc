#include "runtime/reporting.h"

#include <filesystem>
#include <utility>

namespace accel {

Reporting::Reporting(const std::vector<TrackerChoice>& log_with, std::string logging_dir, int rank,
                     bool gpu)
    : trackers_(std::make_shared<TrackerSet>(log_with, rank == 0)),
      logging_dir_(std::move(logging_dir)),
      rank_(rank),
      gpu_(gpu) {}

void Reporting::init_trackers(const std::string& project_name, const TrackedValues& config) {
  const std::filesystem::path folder(logging_dir_);
  trackers_->start(logging_dir_.empty() ? folder : folder / project_name, config);
}

void Reporting::log(const TrackedValues& values, std::optional<std::int64_t> step) {
  trackers_->log(values, step);
}

Profile Reporting::profile(ProfileOptions options) const {
  return Profile(std::move(options), rank_, gpu_);
}

}  // namespace accel
